"""Which commands `wireproof` has, where each is, and which extra installs what it needs."""

from __future__ import annotations

COMMANDS = {
    "test": ("wireproof.conformance.commands.test", "Test a server: play every case, judge it, write records."),
    "test-sdk": ("wireproof.conformance.commands.sdk", "Test an SDK: wireproof plays the server, judges both sides."),
    "durability": ("wireproof.conformance.commands.durability", "Kill a server under load: what does it keep?"),
    "driver": ("wireproof.conformance.commands.driver", "Check the driver of an SDK line by line while you write it."),
    "interop": ("wireproof.conformance.commands.interop", "Run every client against every server; say who broke what."),
    "check-capture": (
        "wireproof.fuzz.commands.check_capture",
        "Judge both sides of a capture.",
    ),
    "proxy": ("wireproof.conformance.commands.live_proxy", "Judge live traffic between your clients and server."),
    "dissector": ("wireproof.conformance.commands.dissector", "Print a dissector for Wireshark (Lua) or for scapy."),
    "fuzz": ("wireproof.fuzz.commands.group", "Fuzz a server, or compare servers, beyond what cases cover."),
    "replay": ("wireproof.fuzz.commands.replay_finding", "Play a record, case or finding again: reproduced or gone?"),
    "identify": ("wireproof.conformance.commands.identify", "Say which protocol, profile and variant a server speaks."),
    "doctor": ("wireproof.conformance.commands.doctor", "Examine this machine: extras, Java, descriptors, sockets."),
    "features": (
        "wireproof.conformance.commands.features",
        "List what servers may have, and how one is set up for all cases.",
    ),
    "explain": ("wireproof.conformance.commands.explain", "Explain a clause or case: sentence, cases, mutants, bytes."),
    "show": ("wireproof.fuzz.commands.show", "Show what an id stands for: clause, case, vector, record, finding."),
    "compare": ("wireproof.conformance.commands.compare", "Compare two runs: what broke, what was fixed."),
    "baseline": ("wireproof.conformance.commands.baseline", "Write or prune the known failures of a target."),
    "requirements": (
        "wireproof.conformance.commands.requirements",
        "Requirement sets: list, compare with today, freeze.",
    ),
    "matrix": ("wireproof.conformance.commands.matrix", "Fold any number of runs into compatibility matrices (Spark)."),
    "ingest": ("wireproof.conformance.commands.ingest", "Take runs into a lake: all runs, with history (Spark)."),
    "site": ("wireproof.conformance.commands.site", "Write the pages of a lake: matrices, trends, changes (Spark)."),
    "vectors": ("wireproof.conformance.commands.vectors", "Show, check, build and export the byte-exact vectors."),
    "serve": ("wireproof.reference_server.cli", "Serve a protocol with its reference server."),
    "mutant": ("wireproof.conformance.commands.mutant", "Serve a mutant: does your own suite notice?"),
    "demo": ("wireproof.conformance.commands.demo", "Test the reference servers and two mutants; show the matrix."),
}
"""Name -> (module with a click command called `command`, one line of help): the commands of users."""
MAINTAINING = {
    "mutation": ("wireproof.conformance.commands.mutation", "Mutation testing: every mutant against every case."),
    "clauses": ("wireproof.conformance.commands.clauses", "List each clause with its cases, mutants and verdicts."),
    "docs": ("wireproof.conformance.commands.docs", "Render the pages that repeat the data (clauses, layouts)."),
}
"""The same for the commands of those who maintain the suite."""
FORMER = {"impostor": "mutant", "self-check": "mutation"}
"""Former name -> the command; accepted until 0.2."""
EXTRAS = {
    "atheris": "fuzz",
    "bcrypt": "psrt",
    "cryptography": "psrt",
    "hypothesis": "fuzz",
    "jinja2": "reports",
    "pyspark": "spark",
    "pytest": "pytest",
    "scapy": "fuzz",
    "uvloop": "server",
}
"""Module -> the extra that installs it."""
