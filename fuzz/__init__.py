"""Attacks on rekmeans: random hostile input, a class of it in each module, and a law that each case
must keep.

    python -m fuzz                        every attack, as many cases as it asks for (minutes: `make
    fuzz`) python -m fuzz files --seconds 60     attacks whose names begin with "files", a minute in
    all python -m fuzz files.npy --seed 7 --case 31   one case again

An attack is a record in the registry, made of two functions:

    from fuzz.attack import Attack, register

    def draw(rng):          # numpy.random.Generator -> a case: any value whose repr says what it is
        return rng.normal(size=3)

    def check(case):        # raises if the law is broken; what it raises is the failure's message
        assert abs(case).max() < 10, "larger than 10"

    register(Attack("numbers.small", draw, check, n_cases=500))

A module of attacks is named in `fuzz.MODULES`. Case number i of an attack is drawn from a generator
of its own, seeded by the run's seed, the attack's name and i: seed and number are enough to see it
again. A `draw` that raises is a failure too. The table at the end counts cases and failures of each
attack; the failures are written to a file, each as the command that repeats it; the exit status is
1 where there is one.

`fuzz.command` runs rekmeans commands in processes of their own, with limits of memory, time and
file size.
"""

MODULES = (
    "fuzz.files",
    "fuzz.model_files",
    "fuzz.checkpoints",
    "fuzz.sizes",
    "fuzz.outputs",
    "fuzz.tables",
    "fuzz.sparse_tables",
    "fuzz.streams",
    "fuzz.core",
)
