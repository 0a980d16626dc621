"""A running Spark application, steered from its own driver: `dag/...` schedulers decide which stage launches next.

SteeringHook.java, hook, client   the part inside Spark's JVM, compiled there; the only code that talks to Spark
messages, parsing                 what a look tells, and what is asked for
known, jobs                       Spark's jobs grouped as ours; what is known of their stages before they run
slots, view, controller           who has which slot, what a scheduler sees, what it decided; without any I/O
sizing                            how many executors are worth having
notes, steering                   what is said, and the thread that looks, asks and steers; all is restored at its end
versions, rehearsal               what was tested; what a scheduler compiles is compiled before anything waits for it
"""
