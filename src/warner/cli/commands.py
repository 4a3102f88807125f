"""Declarations of the commands: one class each, whose fields are the options, and their help.

`options` turns fields into options with the words of `texts`. The function of the same name, in the module that
`COMMANDS` names, takes the value. Nothing that needs NumPy is imported here. `declared` turns only the class of the
current command into a dataclass: doing it for all of them takes as long as the rest of the help.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warner.cli import COMMANDS
from warner.cli.delivering import PictureForms, TableForms, Verdict
from warner.cli.options import DesignGiven, Origin
from warner.reports.options import Columnar, Columnars, Columns, Conditions, NumberOrColumn, Reading, Sample

HELP = {  # what follows the summary of a command in its help
    "plan": """Give two of --people, --epsilon and --half-width (or --error) to get the third. With a pilot, the epsilon
of the pilot is the default unless people and a half-width (or error) are given. All mechanisms are compared at that
epsilon. The plan is for the recommended mechanism unless you name another; `warner design --best` writes its design.

For a test, give --reference and --share, as 0.05 and 0.2, or --shares 0.3,0.1 for two groups, or --coefficient and
--share; the plan has the sample size for --power, or with --people the power.

For the mean of a number: --from 18 --to 99 --mechanism square-wave --epsilon 1 --quantity mean --half-width 2.

For an open domain, give --letters and --length, --bytes or --bits, or its --design; with --people for the smallest
share that will be found, or with --share for the necessary sample size.""",
    "design": """The same file is used to collect answers and to analyze reports. For randomized response, give the
possible answers and one of --epsilon, --truth, --redraw and --odds:

\b
  warner design never once often --epsilon 1 -o design.json

Or give the name of a mechanism or of a survey design, with its parameters:

\b
  warner design crosswise p=1/4 -o design.json
  warner design kuk r1=0.6 r2=0.2 draws=5 --answers user other
  warner design subset-selection --size 1024 --epsilon 1
  warner design square-wave --from 0 --to 200000 --step 1000 \\
    --epsilon 1

A deck of cards for a number, with the instruction of each card ("truth", "say 3", "+5", "-5" or "*2") and its
probability:

\b
  warner design cards truth=1/2 "say 0=1/4" "say 1=1/4" \\
    --from 0 --to 1

For free-text answers, such as words, give their letters and length, their bytes or their bits:

\b
  warner design open-domain --letters a-z --length 12 --epsilon 1 \\
    -o words.json
  warner design open-domain --bits 48 --epsilon 1

and to look up known answers in reports of such a design, name them:

\b
  warner design the of and --open words.json -o list.json

For several questions under one epsilon, of which the device asks some, and for questions with several answers:

\b
  warner design split --question smokes=yes,no \\
    --question drinks=never,once,often --epsilon 2 -o split.json
  warner design select-all beer wine tea --epsilon 1 -o options.json

Or give --best, for the mechanism that `warner plan` recommends for this number of answers and this epsilon:

\b
  warner design --best --size 1024 --epsilon 1 -o design.json
  warner design --best --size 100 --epsilon 4 --share 0.1
  warner design --best --from 18 --to 99 --epsilon 1 --quantity mean

These are the names and their parameters (those in brackets may be left out):

\b
  randomized-response           some of epsilon= truth= redraw= odds=
  subset-selection              some of epsilon= odds= size=
  unary-encoding                some of epsilon= odds= kind= p= q=
  bit-flips                     some of epsilon= odds= size=
  local-hashing                 some of epsilon= odds= field= dimension=
  Hadamard-response             some of epsilon= odds= bits=
  projective-geometry-response  some of epsilon= odds= field= dimension=
  square-wave                   some of epsilon= odds= width= quantity=
  cutoff-response               some of epsilon= odds=
  l-grr                         eps_infinity= eps_first=
  l-osue                        eps_infinity= eps_first=
  l-sue                         eps_infinity= eps_first=
  rappor                        f= p= q=
  loloha                        eps_infinity= eps_first= [field=] [dimension=]
  dbitflippm                    eps_infinity= [eps_first=] [size=]
  warner                        p=
  mirrored                      p=
  disguised                     p=
  crosswise                     p=
  triangular                    p=
  forced-response               truth= yes=, or
                                truth= and ANSWER= for each answer
  unrelated-question            p= prevalence=
  mangat-singh                  truth= p=
  mangat                        p=
  kuk                           r1= r2= [draws=]
  direct                        no parameters

Numbers are taken exactly as written: 1/6 is one sixth. Survey designs ask for yes or no; you can name two other answers
after --answers, the sensitive one first, and the two reports after --reports:

\b
  warner design crosswise p=1/4 --answers "1 = yes" "2 = no" --reports A B""",
    "randomize": "The probabilities are exact, and the randomness comes from the operating system: there is no seed.",
    "collect": """Prints the address of the survey, and a link to its dashboard that works once. Ctrl-C stops it with
exit code 0; if you start it again, it continues. The addresses of respondents are neither stored nor logged. The
headers of a proxy are ignored, so all respondents behind a proxy share its address: set a limit there, and --rate 0
here.""",
    "survey new": """Every question of this command is also an option, for use without a terminal. The n-th --answers,
--sensitive and --epsilon belong to the n-th --question; a single one is for all questions. The file has further fields,
such as an introduction, which the documentation describes; edit it before the survey begins.""",
    "survey link": """The survey goes on meanwhile. Run the command on the computer that serves the survey, as the same
user. The link works once, within ten minutes.""",
    "survey invite": """Only the file has the links, and only its owner can read it: the database keeps hashes. If the
survey runs with an SQLite file, stop it first and start it again afterwards. With neither a number nor --revoke, the
command prints the number of invitations and how many of them can still be used, according to the published responses;
the survey may be running then.""",
    "survey close": """If the survey is running with an SQLite file, close it on its dashboard instead. Intervals are
for one look only if the survey file fixes the number of responses and that number is reached. Otherwise they remain
those for all looks, because the survey may have been closed for its results.""",
    "survey backup": """The copy is written in an order that reveals nothing; other ways of copying the file may show
who responded when.""",
    "survey report": """The page is an HTML file with sentences, figures and groups, and the technical details at the
end; a browser prints it as PDF. It shows the published responses. Groups are shown once the survey is closed.""",
    "survey notice": """The numbers of the survey are filled in. Replace the words in brackets, such as your address,
and show the notice to respondents before they answer. It is not legal advice.""",
    "tally": """A tally contains the counts and the design, but no report: `warner estimate`, `check` and `regress` read
it instead of reports. Tallies of one design add up exactly, as if all reports had been counted at once; those of
several designs make a pool, which assumes that all reports come from one population; `warner check` tests that. A tally
of an open domain contains the reports without their order, for `warner discover`.""",
    "estimate": """Prints a table of the estimated shares with confidence intervals, the largest first, or the same as
JSON or CSV. With two answers, the table shows only the first; JSON and CSV have both. With means, quantiles, shares
beyond a number or totals, CSV and all other tables have a row for each of these.""",
    "discover": """The family-wise false-positive rate is at most 1 - level, for one look at the reports. Each value
comes with its share, and an interval that is corrected for the selection of the value.""",
    "groups": """Each share is shrunk toward the other groups; groups with noisier reports are shrunk more. The total
error of the groups is smaller. Intervals have average coverage over the groups; for a claim about one group, use --kind
each, or `warner estimate`.""",
    "compare": """The samples are two saved tallies, such as those of two days, or with --between two groups of one.
Without --answer, prints the difference of each share with its confidence interval, and tests of equality with p-values
that are adjusted for the number of answers. For one --answer, such as that of a direct and of a randomized question,
prints the ratio too. Groups of two tallies are added up.

The exit code is 0 even if shares differ; with --exit-code it is then 1. It is 2 for bad input.""",
    "regress": """Prints a table of coefficients with their intervals and the assumptions behind them, or the same as
JSON or CSV.""",
    "associate": """The file has a row for each respondent, with a column of reports for each question; each answer was
randomized independently. Prints a test of independence, the joint shares, and measures of association. One question is
correlated with the numbers of --numeric.""",
    "check": """For several designs, it also tests that all reports come from one population.

The exit code is 0 if the reports fit the design that they claim, 1 if they do not, and 2 for bad input.""",
    "audit": """The command is started three times for each answer, without a shell. The exit code is 0 if the client
passes, 1 if it spends more than it claims, does not follow the design or repeats itself, and 2 for bad input.""",
}
LOOPBACK = "127.0.0.1"


@cache
def declared(key: str) -> type:
    """Return the frozen dataclass that declares a command, with its help as docstring."""
    if key == "survey serve":
        return declared("collect")
    command: type = globals()[key.title().replace(" ", "")]
    command.__doc__ = f"{COMMANDS[key].summary}\n\n{HELP.get(key, '')}".strip()
    for kind in reversed(command.__mro__[:-1]):
        _frozen(kind)
    return command


_frozen = cache(dataclass(frozen=True, kw_only=True))


@dataclass(frozen=True)
class Questions:
    """Quantities of `warner estimate` besides the shares."""

    compare: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    test: str = "barnard"
    count: int | None = None
    present: bool = False
    mean: bool = False
    standard_deviation: bool = False
    median: bool = False
    quantile: tuple[float, ...] = ()
    quantile_method: str | None = None
    above: tuple[float, ...] = ()
    below: tuple[float, ...] = ()
    within: tuple[str, ...] = ()
    totals: bool = False
    population: tuple[float, ...] = ()
    values: str | None = None

    @property
    def is_given(self) -> bool:
        return bool(self.about_answers) or self.about_numbers or self.totals

    @property
    def about_numbers(self) -> bool:
        beyond = bool(self.above or self.below or self.within)
        return self.mean or self.standard_deviation or self.median or bool(self.quantile) or beyond

    @property
    def about_answers(self) -> list[str]:
        """The options about answers, which have no row in tables of quantities."""
        options = {"--compare": self.compare, "--commonest": self.count is not None, "--present": self.present}
        return [option for option, value in options.items() if value]

    def refuse_contradictions(self) -> None:
        if self.between and not (self.compare or self.mean):
            raise ValueError("--between needs --compare with the answer to compare, or --mean")
        if self.quantile_method is not None and not (self.median or self.quantile):
            raise ValueError("--quantile-method needs --median or --quantile")
        if self.population and not self.totals:
            raise ValueError("--population is for --totals; give --totals as well")
        if self.values is not None and not (self.about_numbers or self.totals):
            raise ValueError(
                "--values needs --mean, --standard-deviation, --median, --quantile, --above, --below, --within or "
                "--totals"
            )


class Plan:
    size: int | None = None
    lower: str | None = None
    upper: str | None = None
    step: str | None = None
    domain_file: Path | None = None
    design: Path | None = None
    mechanism: str | None = None
    letters: str | None = None
    length: int | None = None
    text_bytes: int | None = None
    bits: int | None = None
    epsilon: str | None = None
    people: int | None = None
    quantity: str = "shares"
    values: str | None = None
    half_width: float | None = None
    error: float | None = None
    answer: str | None = None
    share: float | None = None
    level: float = 0.95
    simultaneous: bool = False
    power: float = 0.8
    population: str | None = None
    pilot: str | None = None
    column: str | None = None
    design_effect: float | None = None
    reference: float | None = None
    shares: str | None = None
    coefficient: float | None = None
    covariate: float | None = None
    other_design: Path | None = None
    alternative: str | None = None
    delta: float | None = None
    seed: int | None = None
    grid: bool = False
    as_json: bool = False
    output: Path | None = None
    plot: Path | None = None
    mechanism_plot: Path | None = None


class Design:
    words: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    size: int | None = None
    lower: str | None = None
    upper: str | None = None
    step: str | None = None
    quantity: str | None = None
    domain_file: Path | None = None
    question: tuple[str, ...] = ()
    asked: int | None = None
    at_most: int | None = None
    best: bool = False
    share: float | None = None
    integers: bool = False
    letters: str | None = None
    length: int | None = None
    text_bytes: int | None = None
    bits: int | None = None
    opened_by: Path | None = None
    epsilon: str | None = None
    truth: str | None = None
    redraw: str | None = None
    odds: str | None = None
    output: Path | None = None
    force: bool = False


class Show:
    design: Path
    as_json: bool = False


class Randomize:
    file: str
    design: Path
    column: str | None = None
    keep: tuple[str, ...] = ()
    sheet: str | None = None
    encoding: str | None = None
    memo: Path | None = None
    output: str = "-"
    nearest: bool = False
    lines: bool = False
    force: bool = False


class Collect:
    survey: Path
    database: str | None = None
    host: str = LOOPBACK
    port: int = 8000
    dashboard_host: str = LOOPBACK
    dashboard_port: int = 8001
    allow_origin: tuple[str, ...] = ()
    limit: int | None = None
    rate: int = 300
    certificate: Path | None = None
    key: Path | None = None
    key_file: Path | None = None
    share: bool = False
    page: Path | None = None
    url: str | None = None


class SurveyNew:
    file: Path
    title: str | None = None
    language: str | None = None
    question: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    epsilon: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    stop: int | None = None
    invited: bool = False
    example: bool = False
    force: bool = False


class SurveyLink:
    survey: Path


class SurveyInvite:
    survey: Path
    number: int | None = None
    url: str | None = None
    output: Path | None = None
    revoke: Path | None = None
    database: str | None = None


class SurveyClose:
    database: str


class SurveyBackup:
    database: str
    output: Path


class SurveyReport:
    database: str
    output: Path
    level: float = 0.95
    target: str = "realised"
    noun: str = "respondents"
    force: bool = False


class SurveyNotice:
    survey: Path
    output: Path
    force: bool = False


class Reports:
    """Options of the commands that count reports under their design, or read saved tallies."""

    files: tuple[str, ...]
    given: DesignGiven
    columns: Columns
    sample: Sample
    reading: Reading
    origin: Origin


class Tally(Reports):
    output: Path | None = None
    force: bool = False


class Estimate(Reports):
    method: str | None = None
    seed: int | None = None
    level: float = 0.95
    target: str = "population"
    simultaneous: bool = False
    anytime: bool | None = None
    questions: Questions
    rows: int = 20
    table: TableForms
    pictures: PictureForms
    cumulative: bool = False


class Discover:
    files: tuple[str, ...]
    design: Path | None = None
    question: str | None = None
    column: str | None = None
    by: Columnars = None
    where: Conditions = None
    counts: Columnar = None
    level: float = 0.95
    above: float = 0.0
    expected: Path | None = None
    power: float = 0.8
    simultaneous: bool = False
    reading: Reading
    origin: Origin
    table: TableForms
    pictures: PictureForms


class Groups(Reports):
    on: str | None = None
    along: str | None = None
    different_people: bool = False
    mean: bool = False
    values: str | None = None
    kind: str = "average"
    level: float = 0.95
    answer: str | None = None
    rows: int = 20
    table: TableForms
    pictures: PictureForms


class Compare:
    first: Path
    second: Path | None = None
    answer: str | None = None
    between: tuple[str, ...] = ()
    by: Columnars = None
    where: Conditions = None
    level: float = 0.95
    correction: str = "holm"
    rows: int = 20
    exit_code: bool = False
    verdict: Verdict


class Regress:
    files: tuple[str, ...]
    formula: str
    design: tuple[str, ...] = ()
    by: str | None = None
    on: str | None = None
    model: str = "multinomial"
    values: str | None = None
    link: str = "logit"
    reference: str | None = None
    where: Conditions = None
    weights: str | None = None
    counts: str | None = None
    clusters: str | None = None
    strata: str | None = None
    sampled: NumberOrColumn = None
    whole: bool = False
    intercepts: str | None = None
    errors: str | None = None
    penalty: str | None = None
    starts: int | None = None
    level: float = 0.95
    interval: str = "auto"
    odds: bool = False
    predict: tuple[str, ...] = ()
    effects: str = "averaged"
    group_effects: bool = False
    margins: bool = False
    also: tuple[str, ...] = ()
    reading: Reading
    origin: Origin
    table: TableForms
    plot: Path | None = None
    against: str | None = None


class Associate:
    file: str
    questions: tuple[str, ...]
    where: Conditions = None
    weights: str | None = None
    counts: str | None = None
    numeric: str | None = None
    values: tuple[str, ...] = ()
    level: float = 0.95
    simulations: int = 1999
    seed: int | None = None
    reading: Reading
    origin: Origin
    verdict: Verdict


class Check(Reports):
    level: float = 0.95
    simulations: int = 999
    seed: int | None = None
    fakes: int | None = None
    verdict: Verdict


class Audit:
    command: str
    design: Path
    answers: tuple[str, ...] = ()
    runs: int | None = None
    level: float = 0.95
    raw: bool = False
    timeout: float = 300
    verdict: Verdict
