"""The option sets that are compared with sacreBLEU, and its results for a corpus with each of them.

tests/trainer/metrics/sacrebleu_cases.h has the same names.
"""
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER

BLEU_OPTIONS = {
    "default": {},
    "intl": {"tokenize": "intl"},
    "char": {"tokenize": "char"},
    "zh": {"tokenize": "zh"},
    "none": {"tokenize": "none"},
    "floor": {"smooth_method": "floor"},
    "floor 0.25": {"smooth_method": "floor", "smooth_value": 0.25},
    "add-k": {"smooth_method": "add-k"},
    "add-k 0.5": {"smooth_method": "add-k", "smooth_value": 0.5},
    "unsmoothed": {"smooth_method": "none"},
    "effective": {"effective_order": True},
    "lower case": {"lowercase": True},
    "intl lower case": {"tokenize": "intl", "lowercase": True},
    "unsmoothed effective": {"smooth_method": "none", "effective_order": True},
}
CHRF_OPTIONS = {
    "chrF2": {},
    "chrF2++": {"word_order": 2},
    "chrF2++ lower case": {"word_order": 2, "lowercase": True},
}
TER_OPTIONS = {
    "TER": {},
    "TER mixed case": {"case_sensitive": True},
    "TER normalized": {"normalized": True},
    "TER without punctuation": {"no_punct": True},
    "TER normalized Asian": {"normalized": True, "asian_support": True},
    "TER Asian without punctuation": {"no_punct": True, "asian_support": True},
    "TER all options": {"normalized": True, "no_punct": True, "asian_support": True, "case_sensitive": True},
}


def metrics():
    """name: a metric of sacreBLEU with these options."""
    made = {name: BLEU(force=True, **options) for name, options in BLEU_OPTIONS.items()}
    made.update({name: CHRF(**options) for name, options in CHRF_OPTIONS.items()})
    made.update({name: TER(**options) for name, options in TER_OPTIONS.items()})
    return made


def results(hypotheses, references):
    """name: [score, text after the signature]; and name: signature."""
    scores, signatures = {}, {}
    for name, metric in metrics().items():
        score = metric.corpus_score(hypotheses, references)
        line = score.format(width=1, signature=str(metric.get_signature()))
        signature, printed = line.split(" = ", 1)
        scores[name] = [score.score, printed]
        signatures[name] = signature.replace("version:" + sacrebleu.__version__, "version:VERSION")
    return scores, signatures
