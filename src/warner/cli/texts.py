"""The words of the help: for each option, by its heading and its name, what it takes and what it is for.

`TEXTS` holds options of any command, `OTHERWISE` those that mean something else in one of them. Lists of names are
written out, so that help needs nothing of the library; tests compare them with the registries.
"""

from __future__ import annotations

from typing import NamedTuple

METHOD_CHOICES = "mle|inv|inv_n|inv_p|ibu|shrink|smooth|base_cut|norm_cut|power|power_ns|mle_pooled|auto"
MECHANISM_CHOICES = (
    "randomized-response|subset-selection|unary-encoding|bit-flips|local-hashing|Hadamard-response|"
    "projective-geometry-response|square-wave|cutoff-response"
)
FORMAT_CHOICES = "csv|tsv|parquet|jsonl|sav|zsav|dta|sas7bdat|xpt|xlsx"
ARGUMENTS, GENERAL = "Arguments", "General"
NUMBERS = "such as never=0,once=1"


class Text(NamedTuple):
    """The words of an option: its value, its purpose, its spellings if not --name, its choices, range and heading."""

    metavar: str
    help: str
    names: tuple[str, ...] = ()
    choices: str = ""
    least: int | None = None
    most: int | None = None
    heading: str = ""

    @property
    def value(self) -> str | None:
        """The value as usage shows it: choices in brackets, where they have no name."""
        return self.metavar or (f"[{self.choices}]" if self.choices else None)


TEXTS: dict[str, dict[str, Text]] = {
    ARGUMENTS: {
        "files": Text(
            "FILE...",
            "Reports: CSV, Excel, Parquet, JSON, SPSS, Stata or SAS files, patterns or folders; or saved tallies, or a "
            "database, or - for standard input.",
        ),
        "words": Text("[ANSWER | NAME KEY=VALUE]...", "Possible answers, in order; or a name and its parameters."),
        "formula": Text(
            "FORMULA", 'Column of reports and the terms, as "answer ~ age + C(region)"; with --on, the column.'
        ),
        "questions": Text("COLUMN=DESIGN...", "Column of each question, and the file of its design."),
        "first": Text("FIRST", "Tally that `warner tally` saved."),
        "second": Text("SECOND", "Tally that `warner tally` saved."),
        "command": Text(
            "COMMAND",
            "Client, in quotes: it reads one answer per line and prints one report per line, without a header.",
        ),
        "survey": Text("SURVEY", "Survey: a JSON file, whose format the documentation describes."),
        "number": Text("[NUMBER]", "Number of people to invite.", least=1, most=1_000_000),
    },
    "Answers": {
        "answers": Text("WORDS", "Possible answers, in order: all words up to the next option."),
        "reports": Text(
            "WORDS", "The two reports of a survey design, such as A B for crosswise: all words up to the next option."
        ),
        "size": Text("NUMBER", "Number of possible answers, with the labels 0, 1, 2, ..."),
        "lower": Text(
            "NUMBER", "Smallest answer, if answers are numbers; with --to, and --step unless 1.", ("--from",)
        ),
        "upper": Text("NUMBER", "Largest answer, if answers are numbers.", ("--to",)),
        "step": Text(
            "NUMBER",
            "Distance between two answers, if answers are numbers; for an open domain, the largest number of letters, "
            "bytes or bits in a block.",
        ),
        "domain_file": Text("FILE", "File of the possible answers, one per line."),
        "integers": Text("", "The answers and the reports that are named are integers, not text."),
        "letters": Text("LETTERS", "Answers are texts of at most --length of these letters, such as a-z0-9.-."),
        "length": Text("NUMBER", "With --letters: the largest number of letters in an answer."),
        "text_bytes": Text("NUMBER", "Answers are texts of at most this many bytes in UTF-8.", ("--bytes",)),
        "bits": Text("NUMBER", "Answers are whole numbers of this many bits."),
        "opened_by": Text(
            "FILE", "Make the design of a list of answers for reports of the open domain in this file.", ("--open",)
        ),
    },
    "Design": {
        "design": Text(
            "FILE | NAME=FILE",
            "Design file of `warner design`. For several designs, NAME=FILE for each, and --by; repeatable.",
            ("--design", "-d"),
        ),
        "mechanism": Text(
            "NAME", "Mechanism, such as subset-selection; the recommended one if not given.", (), MECHANISM_CHOICES
        ),
        "epsilon": Text("NUMBER", "Privacy parameter of one report, in nats; the design never spends more."),
        "truth": Text("PROBABILITY", "Probability that a report is the true answer, such as 0.75 or 3/4."),
        "redraw": Text("PROBABILITY", "Probability that the answer is replaced by a uniform draw from all answers."),
        "odds": Text("A:B", "Odds of the true answer against each other answer."),
        "domain": Text("A,B,...", "Possible answers, if there is no design file."),
        "quantity": Text(
            "",
            "Quantity for which --best compares all mechanisms; shares if not given. A square wave takes distribution, "
            "which is its default, or mean.",
            (),
            "shares|mean|distribution",
        ),
        "best": Text(
            "",
            "Choose the mechanism with the smallest total squared error of all shares, or one at most 5 % above it "
            "that has shorter reports.",
        ),
        "share": Text("SHARE", "With --best: choose the mechanism that is best for an answer with this true share."),
    },
    "Input": {
        "question": Text("ID", "Question, if FILE is the database of a survey.", ("--question", "-q")),
        "column": Text("COLUMN", "Column that holds the reports.", ("--column", "-c")),
        "by": Text(
            "COLUMN",
            "Group by this column; repeatable. With several designs, the first column names the design of each row, "
            "and all are estimated together.",
        ),
        "where": Text("COLUMN=VALUE", "Take only the rows in which this column has this value; repeatable."),
        "weights": Text("COLUMN", "Column of survey weights."),
        "counts": Text("COLUMN", "Column that says how often each value was reported."),
        "numeric": Text("COLUMN", "Correlate the answers with this column of numbers; needed for one question."),
        "memo": Text(
            "FILE",
            "For a memoized design: the answers are all one person's, whose permanent responses are kept in this file. "
            "It is made if there is none.",
        ),
        "nearest": Text("", "Round numbers to the nearest answer of the design before randomizing them."),
        "lines": Text("", "Read one answer per line, and write one report per line, without a header."),
        "expected": Text("FILE", "File of values that are tested in any case, one per line, such as a dictionary."),
    },
    "Reading files": {
        "unknown": Text("", "Rule for invalid values, which no report can have.", (), "error|drop"),
        "missing": Text("CODES", "Codes that stand for missing values, such as -99,NA; repeatable."),
        "sheet": Text("NAME", "Sheet of an Excel file, if there are several."),
        "encoding": Text(
            "NAME",
            "Encoding of a text file, such as cp1252 or utf-16; UTF-8 if not given. SPSS, Stata and SAS files usually "
            "state theirs.",
        ),
        "decimal": Text("MARK", "Decimal mark of numbers in a text file: a point or a comma."),
        "table": Text("NAME", "Table, if FILE is the URL of a database of reports."),
        "input_format": Text(
            "FORMAT", f"Format of standard input: {FORMAT_CHOICES.replace('|', ', ')}.", ("--format",), FORMAT_CHOICES
        ),
    },
    "Sample design": {
        "strata": Text("COLUMN", "Column that names strata, such as regions."),
        "clusters": Text("COLUMN", "Column that names clusters, such as schools or households."),
        "sampled": Text(
            "NUMBER | COLUMN",
            "Fraction of a stratum's clusters (without clusters: of its respondents) that was sampled: a number such "
            "as 0.25, or a column.",
        ),
        "whole": Text("", "All people in the sampled clusters were asked."),
        "replicates": Text(
            "PATTERN",
            "Columns of replicate weights, as a pattern such as rw*, with --weights and --scale; or the word "
            "jackknife, to leave out one cluster at a time.",
        ),
        "scale": Text("NUMBER", "Scale factor of the replicate weights, from their documentation."),
        "replicate_clusters": Text("NUMBER", "Number of clusters in the sample behind the replicate weights.", least=2),
    },
    "Model": {
        "model": Text(
            "",
            "Model: log-odds of each answer, ordered answers, or the shares themselves (with --values the mean of a "
            "number).",
            (),
            "multinomial|ordered|linear",
        ),
        "link": Text("", "Link function for two answers or ordered answers.", (), "logit|probit|cloglog|cauchit"),
        "reference": Text("ANSWER", "Answer that the others are compared with; the last one if not given."),
        "intercepts": Text(
            "COLUMN", "Column of groups, such as schools, with a random intercept each; in a formula (1 | school)."
        ),
        "errors": Text(
            "",
            "Standard errors; robust with weights, clusters or strata, else observed.",
            (),
            "observed|expected|opg|robust",
        ),
        "penalty": Text("", "Penalty; it makes every estimate finite.", (), "jeffreys"),
        "starts": Text("NUMBER", "Number of random starts, in addition to those that are always tried.", least=0),
        "on": Text("COLUMN,...", "Covariates, instead of a formula; needs no extra package."),
    },
    "Survey": {
        "people": Text("NUMBER", "Number of respondents."),
        "half_width": Text(
            "NUMBER",
            "Half-width that an interval may have, as a share: 0.02 is two percentage points. For a mean or a "
            "quantile, it is in the unit of the answers.",
        ),
        "error": Text(
            "NUMBER",
            "Instead of --half-width: the root-mean-square error that the unbiased shares, or the unbiased mean, may "
            "have.",
        ),
        "power": Text("PROBABILITY", "Probability of detecting the smallest share that the plan names."),
        "pilot": Text(
            "FILE",
            "File of reports made with --design, or their saved tally: its estimated shares are the expected shares, "
            "and its design effect is that of the sample.",
        ),
        "design_effect": Text(
            "NUMBER",
            "Number of respondents that the sample needs, relative to a simple random sample, such as 1.5 for "
            "clusters; that of the pilot if not given.",
        ),
        "delta": Text("NUMBER", "Also report what shuffling the reports adds to privacy, at this delta."),
    },
    "Estimator": {
        "method": Text(
            "NAME",
            f"Estimator: {METHOD_CHOICES.removesuffix('|auto').replace('|', ', ')}; or auto: shrink for 20 answers "
            "or more, else the closed form with the smallest predicted error. If not given, the one with the smallest "
            "known error: smooth for numbers, shrink for one symmetric design with 20 answers or more without groups, "
            "else maximum likelihood (mle) where the counts allow it.",
            (),
            METHOD_CHOICES,
        ),
        "simulations": Text("NUMBER", "Number of surveys to simulate for each group."),
        "seed": Text("NUMBER", "Seed of simulated surveys; if not given, it follows from the input.", least=0),
        "along": Text("COLUMN", "Let shares follow a random walk along this column of --by: numbers, dates or weeks."),
        "different_people": Text(
            "", "State that nobody is in two groups; required for --along with a memoized design."
        ),
        "fakes": Text("NUMBER", "Also report how far this many fake reports could move a share."),
        "runs": Text("NUMBER", "Number of times to give each answer; 20,000 if not given."),
        "raw": Text("", "Read reports as text of any form, not in the form of the design."),
        "timeout": Text("SECONDS", "Number of seconds that the command may take each time it is started."),
    },
    "Intervals": {
        "level": Text("NUMBER", "Confidence level of the intervals."),
        "interval": Text("", "Method for the intervals of coefficients.", (), "auto|profile|wald"),
        "target": Text(
            "",
            "Whose shares the intervals are for: the population's, or realised: the respondents'.",
            (),
            "population|realised",
        ),
        "simultaneous": Text("", "Intervals with simultaneous coverage of all answers."),
        "anytime": Text(
            "",
            "Intervals with coverage at all looks while reports arrive, or for one look. If not given, those for one "
            "look, except for a survey whose number of responses was not fixed beforehand.",
            ("--anytime/--one-look",),
        ),
        "kind": Text("", "Coverage of the intervals: on average over the groups, or for each.", (), "average|each"),
    },
    "Questions besides the shares": {
        "compare": Text("A,B", "Compare two answers; repeatable."),
        "between": Text(
            "A,B",
            "Compare the answer of --compare, or the means of --mean, between two groups, with --by: as A,B, or each "
            "after a --between of its own.",
        ),
        "test": Text("", "Exact test for --between.", (), "barnard|fisher"),
        "count": Text("COUNT", "Answers that are certainly among the COUNT most common.", ("--commonest",)),
        "present": Text("", "Detected answers: those that are certainly somebody's."),
        "mean": Text("", "Mean of answers that are numbers."),
        "standard_deviation": Text("", "Standard deviation of answers that are numbers."),
        "median": Text("", "Median of answers that are numbers."),
        "quantile": Text("LEVEL", "Quantile, such as 0.9, of answers that are numbers; repeatable."),
        "quantile_method": Text(
            "[smooth]",
            "With --median and --quantile: approximate intervals, narrower on a fine grid, which assume that "
            "neighboring numbers are about equally common. If not given, nothing is assumed.",
        ),
        "above": Text("NUMBER", "Share of respondents above this number; repeatable."),
        "below": Text("NUMBER", "Share of respondents below this number; repeatable."),
        "within": Text(
            "LEAST,MOST",
            "Share of respondents from one number to another, both included, as 18,25; repeatable.",
        ),
        "totals": Text(
            "",
            "Number of people with each answer, or with --values the total of a number: from --population, or from "
            "weights that say how many people a report stands for.",
        ),
        "population": Text(
            "NUMBER", "Number of all people, for --totals; with --by once for each group, in their order."
        ),
        "values": Text(
            "A=0,B=1",
            f"Number that each answer stands for, {NUMBERS}: for means, quantiles, shares beyond a number, --totals.",
        ),
        "answer": Text("ANSWER", "Answer whose share is compared."),
        "predict": Text(
            "NAME=VALUES",
            "Also predict the shares, or with --values the mean, for these values of a covariate, as age=20,40; "
            "repeatable.",
        ),
        "effects": Text(
            "",
            "With random intercepts, whose shares --predict returns: averaged over all groups, or those of the median "
            "group.",
            (),
            "averaged|median",
        ),
        "group_effects": Text("", "With random intercepts, also show the effect of each group."),
        "grid": Text("", "Add a table over epsilon and the number of respondents."),
    },
    "Server": {
        "database": Text(
            "PLACE",
            "Database of the counts: a file, or postgresql://user@host/name; ID.db next to SURVEY if not given.",
        ),
        "host": Text("ADDRESS", "Address to listen on; 0.0.0.0 for all addresses of this computer."),
        "port": Text("NUMBER", "Port of the survey; 0 for any free one.", least=0, most=65535),
        "dashboard_host": Text("ADDRESS", "Address of the dashboard."),
        "dashboard_port": Text("NUMBER", "Port of the dashboard; 0 for any free one.", least=0, most=65535),
        "allow_origin": Text(
            "ORIGIN", "Site whose pages may send responses, such as https://www.example.org; repeatable."
        ),
        "limit": Text("NUMBER", "Largest number of responses to accept.", least=1),
        "rate": Text("NUMBER", "Responses per minute from one address; 0 for no limit, as behind a proxy.", least=0),
        "certificate": Text("FILE", "Certificate (PEM), to serve HTTPS without a proxy."),
        "key": Text("FILE", "Key of the certificate (PEM)."),
        "key_file": Text(
            "FILE",
            "File with a reusable key for the dashboard, for a service that starts by itself; it replaces the link "
            "that works once.",
        ),
        "page": Text("FILE", "Write the page to this file, to be hosted elsewhere, without serving it. Needs --url."),
        "url": Text("URL", "With --page: where responses are collected, such as https://survey.example.org."),
        "revoke": Text(
            "FILE", "Revoke the invitations in this file, with one link or code per line, that nobody has used."
        ),
    },
    "Output": {
        "rows": Text("NUMBER", "Number of rows to show; with --by, of each group.", least=1),
        "as_json": Text("", "Print the result as JSON.", ("--json",)),
        "as_csv": Text("", "Print the result as CSV.", ("--csv",)),
        "output": Text("FILE", "Write the result to this file, completely or not at all.", ("--output", "-o")),
        "force": Text("", "Replace another design; reports made with that can then no longer be analyzed."),
        "plot": Text("FILE", "Save a plot of the result to this PNG, SVG or PDF file."),
        "mechanism_plot": Text(
            "FILE", "Save a plot of what each mechanism needs, against epsilon, to this PNG, SVG or PDF file."
        ),
        "cumulative": Text("", "Make --plot show the shares of all answers up to each, in their order."),
        "against": Text(
            "COLUMN", "Make --plot show the predicted shares, or with --values the mean, against this covariate."
        ),
        "report": Text("FILE", "Write an HTML report to this file."),
        "title": Text("TEXT", "Headline of --report, and title of --plot."),
        "wording": Text("TEXT", "Question that respondents were asked, word for word, for --report."),
    },
    GENERAL: {
        "quiet": Text(
            "", "Print only the result and errors: no progress, no warnings, no messages about written files."
        ),
        "version": Text("", "Show the version."),
        "help": Text("", "Show this message and exit.", ("-h", "--help")),
    },
}
DESIGN = Text("FILE", "Design file of `warner design`.", ("--design", "-d"))
TABLE = Text(
    "FILE",
    "Write to this .csv, .json or .parquet file; or a table for a paper to this .md, .tex or .html file.",
    ("--output", "-o"),
)
VERDICT = Text(
    "FILE",
    "Write the result to this .json or .txt file, or a table for a paper to this .md, .tex or .html file.",
    ("--output", "-o"),
)
DATABASE = Text("DATABASE", "Database of a survey: a file, or postgresql://user@host/name.", heading=ARGUMENTS)
OTHERWISE: dict[str, dict[str, Text]] = {
    "plan": {
        "design": DESIGN,
        "quantity": Text(
            "QUANTITY",
            "Quantity to plan for: shares or, if answers are numbers, mean, median, or a quantile such as 0.9, which "
            "needs --population or --pilot.",
            (),
            "shares|mean|median",
            heading="Survey",
        ),
        "values": Text("A=0,B=1", f"Number that each answer stands for, for --quantity, {NUMBERS}.", heading="Survey"),
        "answer": Text(
            "ANSWER", "Answer to plan for; the one with the widest interval if not given.", heading="Survey"
        ),
        "share": Text(
            "SHARE",
            "True share to plan for, and to recommend a mechanism for; if not given, the plan is for the worst case.",
            heading="Survey",
        ),
        "simultaneous": Text("", "Plan for intervals with simultaneous coverage of all answers."),
        "population": Text(
            "SHARES", "Expected shares: uniform, zipf:1.3, or a CSV file of value and share or count.", heading="Survey"
        ),
        "column": Text("COLUMN", "Column of the pilot's reports.", ("--column", "-c"), heading="Survey"),
    },
    "show": {"design": Text("DESIGN", "Design file of `warner design`.", heading=ARGUMENTS)},
    "randomize": {
        "file": Text(
            "FILE",
            "True answers: a CSV, Excel, Parquet, JSON-lines, SPSS, Stata or SAS file, or - for CSV on standard input.",
            heading=ARGUMENTS,
        ),
        "design": DESIGN,
        "column": Text("COLUMN", "Column that holds the answers.", ("--column", "-c")),
        "keep": Text("COLUMN", "Column to copy to the output; repeatable.", heading="Input"),
        "output": Text(
            "FILE",
            "File to write the reports to: .csv, .parquet or .jsonl, or - for standard output.",
            ("--output", "-o"),
        ),
    },
    "invite": {
        "url": Text("URL", "Address of the survey, such as https://survey.example.org."),
        "output": Text("FILE", "New CSV file for the links, one per line.", ("--output", "-o")),
    },
    "close": {"database": DATABASE},
    "backup": {
        "database": DATABASE,
        "output": Text("FILE", "New file for the copy.", ("--output", "-o")),
    },
    "discover": {
        "design": DESIGN,
        "by": Text("COLUMN", "Group by this column; repeatable."),
        "above": Text("SHARE", "Name only values whose share in the population is above this.", heading="Estimator"),
        "power": Text(
            "PROBABILITY",
            "Probability of finding a value that has the smallest share in the result.",
            heading="Estimator",
        ),
        "output": TABLE,
        "simultaneous": Text("", "Control the level over all groups together, not for each."),
    },
    "groups": {
        "on": Text(
            "FILE[:COLUMN,...]",
            "Shrink groups toward a regression on these columns of a file with a row for each group, of any kind that "
            "reports are read from; on all of its columns if none are named.",
            heading="Estimator",
        ),
        "output": TABLE,
        "mean": Text("", "Mean of answers that are numbers in each group, pooled as shares are."),
        "values": Text("A=0,B=1", f"Number that each answer stands for, for --mean, {NUMBERS}."),
        "answer": Text(
            "ANSWER", "Answer to draw with --plot; of two answers, the first if not given.", heading="Output"
        ),
        "rows": Text("NUMBER", "Number of groups to show.", least=1),
    },
    "regress": {
        "design": Text(
            "FILE | NAME=FILE",
            "Design file of `warner design`. With --by, NAME=FILE for each design; repeatable.",
            ("--design", "-d"),
        ),
        "by": Text("COLUMN", "Column that names the design of each row."),
        "odds": Text("", "Show the coefficients as odds ratios.", heading="Output"),
        "output": TABLE,
        "values": Text(
            "A=0,B=1",
            "With --model linear, the number that each answer stands for, whose mean is modeled: as never=0,once=1, or "
            "the word numbers for answers that are numbers.",
            heading="Model",
        ),
    },
    "associate": {
        "file": Text(
            "FILE",
            "Reports: a CSV, Excel, Parquet, JSON, SPSS, Stata or SAS file, a pattern, a folder, a database, or -.",
            heading=ARGUMENTS,
        ),
        "output": VERDICT,
        "counts": Text("COLUMN", "Column that says how many respondents a row stands for."),
        "values": Text(
            "COLUMN=VALUES",
            "Correlate the number that a question's answers stand for: as drinks=numbers for answers that are numbers, "
            "or drinks=never=0,once=1; repeatable.",
            heading="Input",
        ),
        "simulations": Text("NUMBER", "Number of random tables to draw where there are too many for an exact test."),
    },
    "check": {
        "level": Text("NUMBER", "Probability that reports that fit pass the check, at least."),
        "output": VERDICT,
    },
    "compare": {"output": VERDICT},
    "estimate": {"output": TABLE},
    "audit": {
        "design": Text("FILE", "What the client claims to do: a design file of `warner design`.", ("--design", "-d")),
        "answers": Text(
            "WORDS", "Answers to try: all words up to the next option. If not given, up to four are chosen."
        ),
        "level": Text("NUMBER", "Probability that all findings are true, at least."),
        "output": VERDICT,
    },
}
