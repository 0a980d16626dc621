"""Decima (SIGCOMM 2019): a graph network over all jobs chooses the stage, the executor class and the limit.

`inputs` turns views into flat arrays, `shape` says what the network looks like, `forward` computes it compiled for
one decision or many, `network` is the same in torch for training, `checkpoint` keeps it, and `scheduler` is
`dag/decima`.
"""
