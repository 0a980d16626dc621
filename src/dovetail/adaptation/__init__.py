"""A scheduler made of schedulers: it swaps its parts while work is running, and learns which suit the work.

After emergent software (Porter et al.) and emergent scheduling (Dean and Porter, SEAMS 2021): *assembly* knows the
compositions of interchangeable parts and changes from one to another (`composition`, `composed`, `hot_swap`),
*perception* tells how well things go and what the work looks like (`perception`, `change`), and *learning* chooses
(`learners`).  `adaptive` puts them together, with guard rails (`guard`).
"""
