"""Attacks on rekmeans with random adversarial input. Each module has a class of input and a law
that every case must satisfy.

    python -m fuzz                               # all attacks (minutes: `make fuzz`)
    python -m fuzz files --seconds 60            # attacks named "files...", for a minute
    python -m fuzz files.npy --seed 7 --case 31  # repeat one case

An attack is a record in the registry that consists of two functions:

    from fuzz.attack import Attack, register

    def draw(rng):    # numpy.random.Generator -> a case: any value with a meaningful repr
        return rng.normal(size=3)

    def check(case):  # raises an exception if the law is violated; its message is reported
        assert abs(case).max() < 10, "larger than 10"

    register(Attack("numbers.small", draw, check, n_cases=500))

List a module of attacks in `fuzz.MODULES`. Case number i of an attack is drawn from its own
generator, which is seeded by the seed of the run, the name of the attack and i. The seed and the
number are therefore enough to repeat it. An exception in `draw` is also a failure. The table at the
end counts the cases and failures of each attack. Failures are written to a file, each with the
command that repeats it. The exit status is 1 if a case failed. `fuzz.command` runs rekmeans
commands in separate processes, with limits for memory, time and file size.
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
