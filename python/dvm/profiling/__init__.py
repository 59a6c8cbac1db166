"""Where the time of a call goes: measured on this machine, or modelled on simulated AI Cores.

`profile` holds what a Profile is and what makes one, `measured` and `simulated` the two kinds,
`what_if` and `fusion_trials` what other choices would cost, and `page` what one looks at.
"""
