"""A queue in front of Slurm: its jobs and nodes become views, `gpu/...` schedulers decide, Slurm carries it out.

client                        runs Slurm's commands; jobs, nodes, gres, hostlist: what they print, parsed
trace, candidates             words on jobs: which are ours, and how far things are with them
shape, estimates              what a job needs, and how long it may take
cluster, room, view, site     machines, what is free on them, and the view of both and the queue
asking, controller, messages  who is queued, told to begin or given back; without any I/O
acts, loop, guardian          instructions carried out, again and again; everything given back when the loop dies
"""
