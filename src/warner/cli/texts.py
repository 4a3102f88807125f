"""Help texts: name, spellings, value and purpose of each option, under headings.

A heading "plan / Survey" is for one command, or for several with commas between them. A value in brackets lists
choices; NUMBER>=1 has a range. Lists of names are written out, so that help loads nothing of the library; tests compare
them with the registries.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import click

CHOICES = {  # besides those in brackets
    "method": "mle|inv|inv_n|inv_p|ibu|shrink|smooth|base_cut|norm_cut|power|power_ns|mle_pooled|auto",
    "mechanism": "randomized-response|subset-selection|unary-encoding|bit-flips|local-hashing|Hadamard-response|"
    "projective-geometry-response|square-wave|cutoff-response",
    "input_format": "csv|tsv|parquet|jsonl|sav|zsav|dta|sas7bdat|xpt|xlsx",
}
ARGUMENTS, GENERAL = "Arguments", "General"
LISTED = re.compile(r"\[([\w|]+)\]")
RANGE = re.compile(r"(.*)>=(\d+)(?:<=(\d+))?")
WORDS = """
Arguments
  files FILE...: Reports: CSV, Excel, Parquet, JSON, SPSS, Stata or SAS files, patterns or folders; or saved tallies,
      or a database, or - for standard input.
  words [ANSWER | NAME KEY=VALUE]...: Possible answers, in order; or a name and its parameters.
  formula FORMULA: Column of reports and the terms, as "answer ~ age + C(region)"; with --on, the column.
  questions COLUMN=DESIGN...: Column of each question, and the file of its design.
  first FIRST: Tally that `warner tally` saved.
  second [SECOND]: Tally of other respondents; not with --between.
  command COMMAND: Client, in quotes: it reads one answer per line and prints one report per line, without a header.
  survey SURVEY: Survey file, which `warner survey new` writes.
  number [NUMBER]>=1<=1000000: Number of respondents to invite.
Answers
  answers WORDS: Possible answers, in order: all words up to the next option.
  reports WORDS: The two reports of a survey design, such as A B for crosswise: all words up to the next option.
  size NUMBER: Number of possible answers, with the labels 0, 1, 2, ...
  lower --from NUMBER: Smallest numeric answer; with --to, and --step unless 1.
  upper --to NUMBER: Largest numeric answer.
  step NUMBER: Distance between two numeric answers; for an open domain, the largest number of
      letters, bytes or bits in a block.
  domain_file FILE: File of the possible answers, one per line.
  integers: The answers and the reports that are named are integers, not text.
  letters LETTERS: Answers are texts of at most --length of these letters, such as a-z0-9.-.
  length NUMBER: With --letters: the largest number of letters in an answer.
  text_bytes --bytes NUMBER: Answers are texts of at most this many bytes in UTF-8.
  bits NUMBER: Answers are whole numbers of this many bits.
  asked --ask NUMBER: With split: number of questions that each respondent is asked; the best one if not given.
  at_most NUMBER: With select-all: the largest number of options that a respondent can choose, if the form has a limit.
  opened_by --open FILE: Design file of an open domain; the new design looks up the listed answers in its reports.
Design
  design --design -d FILE | NAME=FILE: Design file of `warner design`. For several designs, NAME=FILE for each, and
      --by; repeatable.
  mechanism NAME: Mechanism, such as subset-selection; the recommended one if not given.
  epsilon NUMBER: Privacy parameter of one report, in nats; the design never spends more.
  truth PROBABILITY: Probability that a report is the true answer, such as 0.75 or 3/4.
  redraw PROBABILITY: Probability that the answer is replaced by a uniform draw from all answers.
  odds A:B: Odds of the true answer against each other answer.
  domain A,B,...: Possible answers, if there is no design file.
  quantity [shares|mean|distribution]: Quantity for which --best compares all mechanisms; shares if not given. A
      square wave takes distribution, which is its default, or mean.
  best: Choose the mechanism with the smallest total squared error of all shares, or one at most 5 % above it that has
      shorter reports.
  share SHARE: With --best: choose the mechanism that is best for an answer with this true share.
Input
  question --question -q ID: Question, if FILE is the database of a survey.
  column --column -c COLUMN: Column that holds the reports.
  by COLUMN: Group by this column; repeatable. With several designs, the first column names the design of each row,
      and all are estimated together. Saved tallies are added up to these groups.
  where COLUMN=VALUE: Use only the rows, or the groups of saved tallies, in which this column has this value;
      repeatable.
  weights COLUMN: Column of survey weights.
  counts COLUMN: Column with the number of times that each value was reported.
  numeric COLUMN: Correlate the answers with this column of numbers; needed for one question.
  memo FILE: For a memoized design: the answers are of one respondent, whose permanent responses are kept in this file.
      It is created if it does not exist.
  nearest: Round numbers to the nearest answer of the design before randomizing them.
  lines: Read one answer per line, and write one report per line, without a header.
  expected FILE: File of values that are always tested, one per line, such as a dictionary.
Reading files
  unknown [error|drop]: Rule for invalid values, which are no possible reports.
  missing CODES: Codes of missing values, such as -99,NA; repeatable.
  sheet NAME: Sheet of an Excel file, if there are several.
  encoding NAME: Encoding of a text file, such as cp1252 or utf-16; UTF-8 if not given. SPSS, Stata and SAS files
      usually state theirs.
  skip_bad_files: Skip files that cannot be read, or whose columns differ from those of most files, and list them.
  decimal MARK: Decimal mark of numbers in a text file: a point or a comma.
  table NAME: Table, if FILE is the URL of a database of reports.
  input_format --format FORMAT: Format of standard input: {choices}.
Sample design
  strata COLUMN: Column that names strata, such as regions.
  clusters COLUMN: Column that names clusters, such as schools or households.
  sampled NUMBER | COLUMN: Fraction of a stratum's clusters (without clusters: of its respondents) that was sampled: a
      number such as 0.25, or a column.
  whole: All members of the sampled clusters were asked.
  replicates PATTERN: Columns of replicate weights, as a pattern such as rw*, with --weights and --scale; or
      jackknife, to leave out one cluster at a time.
  scale NUMBER: Scale factor of the replicate weights, from their documentation.
  replicate_clusters NUMBER>=2: Number of clusters in the sample behind the replicate weights.
Model
  model [multinomial|ordered|linear]: Model: log-odds of each answer, ordered answers, or the shares themselves (with
      --values the mean of a number).
  link [logit|probit|cloglog|cauchit]: Link function for two answers or ordered answers.
  reference ANSWER: Reference answer of the model; the last one if not given.
  intercepts COLUMN: Column of groups, such as schools, with a random intercept each; in a formula (1 | school).
  errors [observed|expected|opg|robust]: Standard errors; robust with weights, clusters or strata, else observed.
  penalty [jeffreys]: Penalty; it makes every estimate finite.
  starts NUMBER>=0: Number of random starts, in addition to the fixed ones.
  on COLUMN,...: Covariates, instead of a formula; needs no extra package.
Survey
  people NUMBER: Number of respondents.
  half_width NUMBER: Largest half-width of an interval, as a share: 0.02 is two percentage points. For a mean or a
      quantile, it is in the unit of the answers.
  error NUMBER: Instead of --half-width: the largest root-mean-square error of the unbiased shares, or of the
      unbiased mean.
  power PROBABILITY: Probability of detecting the smallest share that the plan reports.
  pilot FILE: File of reports made with --design, or their saved tally: its estimated shares are the expected shares,
      and its design effect is that of the sample.
  design_effect NUMBER: Design effect of the sample, such as 1.5 for clusters: its sample size relative to a simple
      random sample; the design effect of the pilot if not given.
  delta NUMBER: Also report the privacy of shuffled reports, at this delta.
Estimator
  method NAME: Estimator: {choices}; or auto: shrink for 20 answers or more, else the closed form with the smallest
      predicted error. If not given, the one with the smallest known error: smooth for numbers, shrink for one
      symmetric design with 20 answers or more without groups, else maximum likelihood (mle) where the counts allow
      it.
  simulations NUMBER: Number of surveys to simulate for each group.
  seed NUMBER>=0: Seed of simulated surveys; if not given, it follows from the input.
  along COLUMN: Let shares follow a random walk along this column of --by: numbers, dates or weeks.
  different_people: State that no respondent is in two groups; required for --along with a memoized design.
  fakes NUMBER: Also report how far this many fake reports could move a share.
  runs NUMBER: Number of runs with each answer; 20,000 if not given.
  raw: Read reports as any text, not in the format of the design.
  timeout SECONDS: Time limit of each run of the command.
Intervals
  level NUMBER: Confidence level of the intervals.
  interval [auto|profile|wald]: Method for the intervals of coefficients.
  target [population|realised]: Target of the intervals: the shares of the population, or, with `realised`, of the
      sample.
  simultaneous: Intervals with simultaneous coverage of all answers.
  anytime --anytime/--one-look: Intervals with coverage at all looks while reports arrive, or for one look. If not
      given, those for one look, except for a survey whose number of responses was not fixed beforehand.
  kind [average|each]: Coverage of the intervals: on average over the groups, or for each.
Questions besides the shares
  compare A,B: Compare two answers; repeatable.
  between A,B: Compare the answer of --compare, or the means of --mean, between two groups, with --by: as A,B, or each
      after its own --between.
  test [barnard|fisher]: Exact test for --between.
  count --commonest COUNT: Answers that are among the COUNT most common, with confidence.
  present: Detected answers: answers with a share above zero, with confidence.
  mean: Mean of numeric answers.
  standard_deviation: Standard deviation of numeric answers.
  median: Median of numeric answers.
  quantile LEVEL: Quantile, such as 0.9, of numeric answers; repeatable.
  quantile_method [smooth]: With --median and --quantile: approximate intervals, narrower on a fine grid, which assume
      that neighboring numbers are about equally common. If not given, there is no such assumption.
  above NUMBER: Share of respondents above this number; repeatable.
  below NUMBER: Share of respondents below this number; repeatable.
  within LEAST,MOST: Share of respondents from one number to another, both included, as 18,25; repeatable.
  totals: Population total of each answer, or with --values the total of a number: from --population, or from
      weights that sum to the population.
  population NUMBER: Size of the population, for --totals; with --by once for each group, in their order.
  values A=0,B=1: Number of each answer, such as never=0,once=1: for means, quantiles, shares beyond a number,
      --totals.
  answer ANSWER: Answer whose share is compared.
  predict NAME=VALUES: Also predict the shares, or with --values the mean, for these values of a covariate, as
      age=20,40; repeatable.
  effects [averaged|median]: With random intercepts, the shares that --predict returns: averaged over all groups, or
      of the median group.
  group_effects: With random intercepts, also show the effect of each group.
  margins: Also estimate average marginal effects; .csv, .parquet and tables for papers contain only these.
  also FORMULA: Another formula for the same data, whose model is shown beside the first; repeatable.
  grid: Add a table over epsilon and the number of respondents.
Server
  database PLACE: Database of the counts: a file, or postgresql://user@host/name; ID.db next to SURVEY if not given.
  host ADDRESS: Address to listen on; 0.0.0.0 for all addresses of this computer.
  port NUMBER>=0<=65535: Port of the survey; 0 for any free one.
  dashboard_host ADDRESS: Address of the dashboard.
  dashboard_port NUMBER>=0<=65535: Port of the dashboard; 0 for any free one.
  allow_origin ORIGIN: Site whose pages may send responses, such as https://www.example.org; repeatable.
  limit NUMBER>=1: Largest number of responses to accept.
  rate NUMBER>=0: Responses per minute from one address; 0 for no limit, as behind a proxy.
  certificate FILE: Certificate (PEM), to serve HTTPS without a proxy.
  key FILE: Key of the certificate (PEM).
  key_file FILE: File with a reusable key for the dashboard, for a service that starts by itself; it replaces the link
      that works once.
  page FILE: Write the page to this file, to be hosted elsewhere, without serving it. Needs --url.
  url URL: With --page: where responses are collected, such as https://survey.example.org.
  revoke FILE: Revoke the unused invitations in this file, with one link or code per line.
Output
  rows NUMBER>=1: Number of rows to show; with --by, of each group, and of at most 200 rows in all.
  as_json --json: Print the result as JSON.
  as_csv --csv: Print the result as CSV.
  output --output -o FILE: Write the result to this file.
  force: Replace another design, whose reports can then no longer be analyzed.
  plot FILE: Save a plot of the result to this PNG, SVG or PDF file.
  mechanism_plot FILE: Save a plot of the requirements of each mechanism, against epsilon, to this PNG, SVG or PDF
      file.
  cumulative: Make --plot show cumulative shares, in the order of the answers.
  against COLUMN: Make --plot show the predicted shares, or with --values the mean, against this covariate.
  report FILE: Write an HTML report to this file.
  title TEXT: Headline of --report, and title of --plot.
  wording TEXT: Wording of the question, for --report.
General
  quiet: Print only the result and errors: no progress, no warnings, no messages about written files.
  version: Show the version.
  help -h --help: Show this message and exit.
design / Answers
  question NAME=A,B,...: With split: name of a question, which is its column, and its possible answers; repeatable.
plan, randomize, discover / Design
  design --design -d FILE: Design file of `warner design`.
plan / Survey
  quantity QUANTITY: Quantity to plan for: shares or, if answers are numbers, mean, median, or a quantile such as 0.9,
      which needs --population or --pilot.
  values A=0,B=1: Number of each answer, for --quantity, such as never=0,once=1.
  answer ANSWER: Answer to plan for; the one with the widest interval if not given.
  share SHARE: True share to plan for, and to recommend a mechanism for; if not given, the plan is for the worst case.
  power PROBABILITY: Probability of detecting the smallest share that the plan reports; with --reference, --shares or
      --coefficient, the power that the test must reach.
  reference SHARE: Plan a test of the hypothesis that the true share is this one, if it is --share.
  shares SHARE,SHARE: Plan a comparison of two groups that have these true shares, as 0.3,0.1.
  coefficient NUMBER: Plan a test of this log odds ratio for one standard deviation of a normal covariate; the
      true share at the mean of the covariate is --share.
  covariate SHARE: Instead of a normal covariate: one that is 1 for this share of the respondents, and 0 for others.
  other_design FILE: Design file of the second group of --shares, if it is not that of the first.
  alternative [one-sided|two-sided]: Sides of the test; if not given, one-sided for --reference 0, else two-sided.
  population SHARES: Expected shares: uniform, zipf:1.3, or a CSV file of value and share or count.
  column --column -c COLUMN: Column of the pilot's reports.
plan / Intervals
  simultaneous: Plan for intervals with simultaneous coverage of all answers.
show / Arguments
  design DESIGN: Design file of `warner design`.
randomize / Arguments
  file FILE: True answers: a CSV, Excel, Parquet, JSON-lines, SPSS, Stata or SAS file, or - for CSV on standard input.
randomize / Input
  column --column -c COLUMN: Column that holds the answers.
  keep COLUMN: Column to copy to the output; repeatable.
randomize / Output
  output --output -o FILE: File to write the reports to: .csv, .parquet or .jsonl, or - for standard output.
  force: Replace an existing file. A second draw for the same respondents spends epsilon again.
collect, survey serve / Server
  share: Share the survey on the local network: its address, a self-signed certificate, and a QR code for phones.
survey new / Arguments
  file FILE: New survey file, such as exams.json.
survey new / Survey
  title TEXT: Heading of the page.
  language TAG: Language of the page: en, de, fr, es or ar; another tag has English texts. Default: en.
  question --question TEXT: Question; repeatable.
  answers A,B,...: Possible answers to the question, separated by commas; yes and no if not given.
  sensitive ANSWER: Answer that the explanation of the privacy uses; if not given, the first of two answers, or the
      last of more.
  epsilon NUMBER: Privacy of the question: 1 is strong, 2 is medium, 3 is weak. Default: 2.
  group TEXT=A,B,...: Question about a group, which is not randomized, as "Which class are you in?=7a,7b"; repeatable.
  stop NUMBER>=2: Number of responses at which the survey closes by itself, such as the number of pupils.
  invited: Only respondents with an invitation can answer.
  example: Write an example survey, without questions in the terminal.
survey new / Output
  force: Replace an existing survey file.
survey invite / Server
  url URL: Address of the survey, such as https://survey.example.org.
survey invite / Output
  output --output -o FILE: New CSV file for the links, one per line.
survey close, survey backup, survey report / Arguments
  database DATABASE: Database of a survey: a file, or postgresql://user@host/name.
survey backup / Output
  output --output -o FILE: New file for the copy.
survey report / Intervals
  target [realised|population]: Shares that the page is about: `realised` for the respondents themselves, or population.
survey report, survey notice / Output
  force: Replace an existing file.
survey report / Output
  output --output -o FILE: HTML file of the page.
  noun NOUN: Word for the respondents, such as pupils.
survey notice / Output
  output --output -o FILE: File of the notice: .html or .md.
tally / Output
  force: Replace an existing file that has other contents.
discover / Input
  by COLUMN: Group by this column; repeatable.
discover / Estimator
  above SHARE: Report only values whose share in the population is above this.
  power PROBABILITY: Probability for which the result reports the smallest detectable share.
discover, groups, regress, estimate / Output
  output --output -o FILE: Write to this .csv, .json or .parquet file; or a table for a paper to this .md, .tex or
      .html file.
discover / Intervals
  simultaneous: Control the level over all groups together, not for each.
groups / Estimator
  on FILE[:COLUMN,...]: Shrink groups toward a regression on these columns of a file with a row for each group, of any
      format of reports; on all of its columns if none are named.
groups / Output
  answer ANSWER: Answer to draw with --plot; of two answers, the first if not given.
  rows NUMBER>=1: Number of groups to show, each with its largest shares: 20 at most, and at most 200 rows in all, or
      one for each group.
groups / Questions besides the shares
  mean: Mean of numeric answers in each group, with partial pooling.
  values A=0,B=1: Number of each answer, for --mean, such as never=0,once=1.
regress / Design
  design --design -d FILE | NAME=FILE: Design file of `warner design`. With --by, NAME=FILE for each design;
      repeatable.
regress / Input
  by COLUMN: Column that names the design of each row.
regress / Output
  odds: Show the coefficients as odds ratios.
regress / Model
  values A=0,B=1: With --model linear, the number of each answer, whose mean is modeled: as never=0,once=1, or the
      word numbers for numeric answers.
associate / Arguments
  file FILE: Reports: a CSV, Excel, Parquet, JSON, SPSS, Stata or SAS file, a pattern, a folder, a database, or -.
associate, check, compare, audit / Output
  output --output -o FILE: Write the result to this .json or .txt file, or a table for a paper to this .md, .tex or
      .html file.
associate / Input
  counts COLUMN: Column with the number of respondents of each row.
  values COLUMN=VALUES: Correlate the numbers of the answers to a question: as drinks=numbers for numeric answers, or
      drinks=never=0,once=1; repeatable.
associate / Estimator
  simulations NUMBER: Number of random tables to draw where there are too many for an exact test.
check / Intervals
  level NUMBER: Smallest probability of passing the check for reports that follow the design.
compare / Input
  by COLUMN: Compare the groups of this column of the tally, with --between; all others are added up; repeatable.
  where COLUMN=VALUE: Use only the groups in which this column has this value; repeatable.
compare / Intervals
  correction [holm|bh]: Adjustment of the p-values of all answers: Holm's method, for the family-wise error rate, or
      Benjamini and Hochberg's (bh), for the false discovery rate.
compare / Questions besides the shares
  answer ANSWER: Compare the share of this answer alone.
  between A,B: Compare two groups of the first tally: as A,B, or each after its own --between.
compare / Output
  rows NUMBER>=1: Number of answers to show, the smallest p-values first.
  exit_code: Exit with code 1 if a share differs, for scheduled jobs.
audit / Design
  design --design -d FILE: Design that the client claims to follow: a file of `warner design`.
audit / Answers
  answers WORDS: Answers to try: all words up to the next option. If not given, up to four are chosen.
audit / Intervals
  level NUMBER: Confidence level of all findings together.
"""


class Text(NamedTuple):
    """Help text of an option."""

    heading: str
    names: tuple[str, ...]
    value: str
    help: str
    choices: tuple[str, ...]
    least: int | None = None
    most: int | None = None


def _text(heading: str, line: str) -> tuple[str, Text]:
    term, _, purpose = line.partition(": ")
    name, *words = term.split(" ")
    spellings = tuple(word for word in words if word.startswith("-")) or (f"--{name.replace('_', '-')}",)
    value = " ".join(word for word in words if not word.startswith("-"))
    limits: list[int | None] = []
    if match := RANGE.fullmatch(value):
        value, limits = match[1], [None if limit is None else int(limit) for limit in match.groups()[1:]]
    in_brackets = LISTED.fullmatch(value)
    listed = CHOICES.get(name) or (in_brackets[1] if in_brackets else "")
    choices = tuple(filter(None, listed.split("|")))
    purpose = purpose.replace("{choices}", ", ".join(choice for choice in choices if choice != "auto"))
    return name, Text(heading, spellings, value, purpose, choices, *limits)


def _texts() -> dict[tuple[str, str], Text]:
    """Return the texts of all options by command and name; the command is empty for options of all commands."""
    texts: dict[tuple[str, str], Text] = {}
    commands = heading = ""
    for line in WORDS.strip().replace("\n      ", " ").splitlines():
        if line.startswith(" "):
            name, text = _text(heading, line.strip())
            texts |= {(command, name): text for command in commands.split(", ")}
        else:
            commands, _, heading = line.rpartition(" / ")
    return texts


TEXTS = _texts()
HEADINGS = list(dict.fromkeys(text.heading for text in TEXTS.values()))


class Formatter(click.HelpFormatter):
    """Help with bold headings on a terminal."""

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{click.style(heading, bold=True)}:\n")


class Context(click.Context):
    """Context of a command, with this project's formatter of help."""

    formatter_class = Formatter
