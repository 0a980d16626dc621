"""A queue in front of Slurm: its jobs and nodes become views, `gpu/...` schedulers decide, Slurm carries it out.

client      runs Slurm's commands         jobs, nodes, gres, hostlist, topology   what they print, parsed
shape       what a job needs               estimates  how long it may take
cluster     machines, as schedulers know them          room       what is free on them
view        the view                       controller who is queued, told or given back, without any I/O
loop        observes, asks, acts           guardian   gives everything back when the loop dies
"""
