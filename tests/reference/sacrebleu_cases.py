#!/usr/bin/env python3
"""Prints sacrebleu_cases.json: what sacreBLEU says about odd lines, for the tests of trainer/bleu, chrf, tokenize_13a.

Usage: pip install sacrebleu==2.6.0; tests/reference/sacrebleu_cases.py > tests/reference/sacrebleu_cases.json
"""
import json

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

# name: (hypotheses, [references, further references ...])
CASES = {
    "three equal words": (["a b c"], [["a b c"]]),
    "empty hypothesis": ([""], [["a"]]),
    "empty reference": (["a"], [[""]]),
    "both empty": ([""], [[""]]),
    "the cat": (["the cat sat on the mat ."], [["the cat sat on a mat ."]]),
    "one word of four differs": (["a b c d"], [["a b x d"]]),
    "nothing in common": (["a b c d e"], [["x y"]]),
    "one word": (["Haus"], [["Haus"]]),
    "one other word": (["Haus"], [["Maus"]]),
    "one character": (["a"], [["a"]]),
    "only white space": (["  \t "], [["a b"]]),
    "identical sentence": (["Ein Mann fährt Rad."], [["Ein Mann fährt Rad."]]),
    "too short": (["Ein Mann fährt"], [["Ein Mann fährt heute mit dem Rad nach Hause."]]),
    "too long": (["Ein Mann fährt heute mit dem Rad ganz schnell nach Hause."], [["Ein Mann fährt nach Hause."]]),
    "repeated words are clipped": (["the the the the the the the"], [["the cat is on the mat"]]),
    "entities": (["&quot;A &amp; B&quot; &lt;b&gt; &amp;lt; &apos;x&apos;"], [["\"A & B\" <b> < 'x'"]]),
    "skipped mark": (["a <skipped> b c d"], [["a b c d"]]),
    "no-break space": (["zehn\u00a0Kilometer bis zum Ziel"], [["zehn Kilometer bis zum\u00a0Ziel"]]),
    "ideographic space": (["a\u3000b c d e"], [["a b c\u3000d e"]]),
    "zero width space": (["a\u200bb c d e f"], [["a b c d e f"]]),
    "line separator inside": (["a b\u2028c d e"], [["a b c d\u2029e"]]),
    "next line and information separators": (["a\u0085b c\u001cd\u001fe"], [["a b c d e"]]),
    "trailing white space": (["a b c d \t\u00a0"], [["a b c d"]]),
    "tabs": (["a\tb\tc d e"], [["a b c\td e"]]),
    "carriage return at the end": (["a b c d\r"], [["a b c d"]]),
    "carriage return inside": (["a b\rc d"], [["a b c d"]]),
    "numbers": (["It costs 1,000.50 or 3.14, not 2.", "v1.2.3, 10.000 and .5"],
                [["It costs 1,000.50 or 3.15, not 2 .", "v1.2.3 , 10,000 and 0.5"]]),
    "hyphens": (["5-3 = 2, 1990-2000 and e-mail a-b --", "A-1 2-B 3--4"], [["5 - 3 = 2, 1990 - 2000 and e-mail a-b --", "A-1 2 -B 3-4"]]),
    "points in a row": (["Und dann... ,,nein'' ..., 1.,2", "a,.b .,. 1,,2"], [["Und dann ... ,, nein '' ... , 1 . , 2", "a , . b 1,2"]]),
    "quotes": (["„Hallo“ – sagte er: \"ja\" ‚nein‘ «oui» 'si'"], [["\"Hallo\" - sagte er: „ja“ 'nein' »oui« 'si'"]]),
    "address": (["e-mail: a@b.com/x?y=1&amp;lt; #tag $5 50% [x] {y} ~ ^ _z_ `q` \\"], [["e-mail: a@b.com / x?y=1 < #tag $5 50 % [x] {y}"]]),
    "Cyrillic": (["Мама мыла раму."], [["Мама мыла белую раму."]]),
    "Greek": (["Ο ΟΔΥΣΣΕΥΣ ΕΙΝΑΙ ΕΔΩ. ΣΑΣ'Σ Σ ΑΣ.Β"], [["ο οδυσσευς ειναι εδω. σας'ς σ ας.β"]]),
    "Chinese": (["我喜欢吃苹果。"], [["我 喜欢 吃 苹果 。"]]),
    "Japanese": (["私は学生です。"], [["私は先生です。"]]),
    "Korean": (["나는 학생입니다."], [["나는 선생님입니다."]]),
    "Arabic": (["مرحبا بالعالم، كيف حالك؟"], [["مرحبا بالعالم ، كيف الحال؟"]]),
    "combining characters": (["cafe\u0301 nai\u0308ve tre\u0300s bien"], [["café naïve très bien"]]),
    "emoji": (["gut 👍🏽 sehr 👩‍👩‍👧 gut 🇩🇪!"], [["gut 👍 sehr 👩‍👩‍👧 gut 🇩🇪!"]]),
    "sharp s and dotted I": (["STRAẞE Straße İstanbul DİYARBAKIR ẞ"], [["straße STRASSE istanbul i̇stanbul diyarbakir ß"]]),
    "letters with case beyond ASCII": (["ÄÖÜ ÉÀÇ ŽŠČ ДЖ Ǆ ǅ Ⅷ Ⓐ Ａ 𐐀 Ა"], [["äöü éàç žšč дж ǆ ǆ ⅷ ⓐ ａ 𐐨 ა"]]),
    "byte order mark": (["\ufeffa b c d"], [["a b c d"]]),
    "brackets in words": (["(hi) [ho] hello! (a b) ... x. .x"], [["(hi) [ho] hello ! (a b) … x ."]]),
    "two references": (["Der Hund läuft schnell durch den Park ."], [["Der Hund rennt schnell durch den Park ."], ["Ein Hund läuft durch den Park ."]]),
    "two references, lengths tie": (["a b c d e"], [["a b c d e f"], ["a b c d"]]),
    "two references, one empty": (["a b c d"], [[""], ["a b c d"]]),
    "three references, two lines": (["a b c d", "the the cat"],
                                    [["a b c x", "the cat"], ["a b d c", "the the dog"], ["x", "a the b the c the"]]),
    "a small corpus": (["Ein Hund läuft durch den Schnee.", "Zwei Männer stehen am Herd und kochen.", "", "Ja."],
                       [["Ein brauner Hund rennt durch den Schnee.", "Zwei Männer stehen am Herd und bereiten Essen zu.", "Nein.", "Ja."]]),
}

BLEU_OPTIONS = {
    "default": {},
    "none": {"tokenize": "none"},
    "floor": {"smooth_method": "floor"},
    "floor 0.25": {"smooth_method": "floor", "smooth_value": 0.25},
    "add-k": {"smooth_method": "add-k"},
    "add-k 0.5": {"smooth_method": "add-k", "smooth_value": 0.5},
    "unsmoothed": {"smooth_method": "none"},
    "effective": {"effective_order": True},
    "lower case": {"lowercase": True},
    "unsmoothed effective": {"smooth_method": "none", "effective_order": True},
}
CHRF_OPTIONS = {"chrF2": {}, "chrF2++": {"word_order": 2}, "chrF2++ lower case": {"word_order": 2, "lowercase": True}}

# Lines for the tokenizer alone: every sentence above and what needs no second one.
LINES = [
    "Hello, world! It's 3.14 (or 1,000).", "e-mail: a@b.com/x?y=1&amp;lt;", "5-3 = 2 and a-b", "„Hallo“ – ok…", "1,000.",
    "end-\nof-line\nhere", "<skipped>", "&amp;amp;quot; &lt;&gt;", "1.", ".1", "1..2", "a.b,c", ",", "...", "1-", "-1", "9-9-9",
    "x\u00e9.\u00e9,\u00e9 1\u00e9.2", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "1!2\"3#4$5%6&7'8(9)0*1+2,3-4.5/6:7;8<9=0>1?2@3",
    "\u0661.\u0662 \u0661-\u0662", " a  b\t\tc ", "",
]


def results(metrics, hypotheses, references):
    """name: [score, what is printed after the signature]; and name: signature."""
    scores, signatures = {}, {}
    for name, (metric, options) in metrics.items():
        metric = metric(**options)
        score = metric.corpus_score(hypotheses, references)
        line = score.format(width=1, signature=str(metric.get_signature()))
        signature, printed = line.split(" = ", 1)
        scores[name] = [score.score, printed]
        signatures[name] = signature.replace("version:" + sacrebleu.__version__, "version:VERSION")
    return scores, signatures


def main():
    metrics = {name: (BLEU, options) for name, options in BLEU_OPTIONS.items()}
    metrics.update({name: (CHRF, options) for name, options in CHRF_OPTIONS.items()})
    tokenize = Tokenizer13a()
    lines = LINES + [line for hypotheses, references in CASES.values() for line in hypotheses]
    print('{"sacrebleu": "%s",' % sacrebleu.__version__)
    print('"signatures": %s,' % json.dumps(results(metrics, ["a"], [["a"], ["b"]])[1]))
    print('"tokenize_13a": [')
    print(",\n".join(json.dumps([line, tokenize(line)]) for line in lines))
    print('],\n"lower_case": [')
    print(",\n".join(json.dumps([line, line.lower()]) for line in lines if line.lower() != line))
    print('],\n"cases": [')
    print(",\n".join(json.dumps({"name": name, "hypotheses": hypotheses, "references": references,
                                 "scores": results(metrics, hypotheses, references)[0]})
                     for name, (hypotheses, references) in CASES.items()))
    print("]}")


if __name__ == "__main__":
    main()
