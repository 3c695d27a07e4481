#!/usr/bin/env python3
"""Prints numpy_random.json: the first random numbers of numpy, for the tests of trainer/numpy_random.

Usage: pip install numpy; tests/reference/numpy_random.py > tests/reference/numpy_random.json
"""
import json

import numpy as np

SEEDS = [12345, 0, 1, 2**32 - 1, 2**32, 2**64 - 1]
BOUNDS = [1, 2, 3, 200, 2037, 2**31 + 1, 3_000_000_000, 2**32 - 1]  # the large ones reject many numbers


def numbers(seed):
    def fresh():
        return np.random.default_rng(seed)

    mixed = fresh()  # an odd count of 32-bit numbers, then others: tests the buffer between calls
    return {
        "seed": seed,
        "seed_state": np.random.SeedSequence(seed).generate_state(4, np.uint64).tolist(),
        "uint64": fresh().bit_generator.random_raw(8).tolist(),
        "below": [[bound, fresh().choice(bound, size=(5, 5), replace=True).ravel().tolist()] for bound in BOUNDS],
        "coins": "".join("01"[int(c)] for c in fresh().integers(2, size=(7, 10), dtype=bool).ravel()),
        "five below 7": mixed.integers(7, size=5).tolist(),
        "then ten coins": "".join("01"[int(c)] for c in mixed.integers(2, size=10, dtype=bool)),
        "then five below 1000": mixed.choice(1000, size=5).tolist(),
    }


def main():
    print('{"numpy": "%s",\n"generators": [' % np.__version__)
    print(",\n".join(json.dumps(numbers(seed)) for seed in SEEDS))
    print("]}")


if __name__ == "__main__":
    main()
