"""What a compiled function did, and why: reports, and answers to "why not fused" and "why again".

`explain` is imported with dvm. All else is only imported when somebody asks, so that programs that
never do pay nothing for it.
"""
