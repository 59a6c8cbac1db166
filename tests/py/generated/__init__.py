"""Generated programs: random NumPy functions as source text, run plain and compiled, compared.

    python -m tests.py.generated.run --examples 5000 --seed 1     many programs, with statistics

choices.py     where decisions come from: Hypothesis, or a seeded random generator
facts.py       what is known of a value: exact or rounded, how large; limits what a program may do
values.py      the tables of operations
expressions.py, language.py, writes.py, containers.py, statements.py
               the generator, from operands to control flow
program.py     a whole program
arguments.py   the calls of a program: shapes, layouts, aliases, special values
compare.py     running the calls plain and compiled, and the first difference
recorded.py    the tracer's recordings, carried out as programs
shrink.py      the smallest program that still shows a difference
"""
