"""Programs over arrays that lie in memory in all the ways in which an array can.

`arrays` makes arrays: strided, reversed, transposed, broadcast, overlapping, unaligned, views of
other dtypes, empty. `chains` makes programs: elementwise operations, reductions and moves in turn.
`compare` runs one compiled and plain over many layouts and tells the first thing that differs.
"""
