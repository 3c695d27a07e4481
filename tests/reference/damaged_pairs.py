"""Random sentences in many scripts, and damaged copies of them as translations with all kinds of errors."""
import random

WORDS = ("the a of to and in is was house tree water small quick brown walk walked reads old friend's it's don't e-mail "
         "der die das und ein Straße Äpfel größer fährt Übung läuft nicht heute ist l'école garçon naïve où déjà œuvre "
         "señor mañana niño łódź žába İstanbul ışık дом вода быстро Читает Ёлка και Ὀδυσσεύς λόγος ΣΟΦΟΣ "
         "שלום مرحبا كتاب हिन्दी पानी ไทย 사람 물을 학교 A B ISO DNA mRNA iPhone x y z http://a.b/c?d=e&f me@here.org "
         "#tag @you C++ co-operate 24-hour U.S. e.g. z.B. Dr. &quot; &amp; &amp;lt; &gt; &apos; <b> <skipped>").split()
LETTERS = "a b c d e f".split()
IDEOGRAPHS = list("我你他们喜欢吃苹果水大小中国人学生今天天气很好日本語東京漢字㐀䶵龥龻豈𠀀𪛖") + list("私はのをテストカナーｱｲ")
NUMBERS = ["7", "42", "1,000", "1.000,50", "3.14", "1990-2000", "12:30", "50%", "2nd", "v1.2.3", ".5", "1.", "½", "²", "Ⅷ", "④",
           "٣", "३", "３", "\U0001d7d7", "$5", "€20", "5\u20ac", "10-year", "+49-30-1234", "(1)", "1/2", "1,2,3", "0.5.", "6,"]
MARKS = list(".,.,.,!?:;") + ["...", "…", "\"", "'", "(", ")", "[", "]", "-", "--", "/", "*", "·", "¿", "¡", "§", "†", "‰", "№", "^", "`",
         "~", "_", "|", "\\", "{", "}", "=", "<", ">", "&", "#", "%", "@", "+"]
CURLY = list("„“”‚‘’«»‹›") + ["–", "—", "‒", "―", "−", "‐", "\u2011"]
SIGNS = list("€$£¥₹¢₿₽\u20c1°±×÷≈≠→⇒∑√∞©®™✓✗★♥☂\u2a6d\u2a6e\u2f81\u2fa1\u2fa2") + ["！", "？", "，", "。", "、", "「", "」", "（", "）",
         "・", "：", "．", "～", "〜", "［", "｡", "｢"]
EMOJI = ["👍", "👍🏽", "👩‍👩‍👧", "🇩🇪", "❤️", "😀", "1️⃣"]
COMBINING = ["\u0301", "\u0308", "\u0323", "\u200d", "\ufe0f", "\u200b", "\u00ad", "\ufeff", "\u0345"]
SPACES = [" "] * 6 + ["\u00a0", "\u00a0", "\u202f", "\u2009", "\u2003", "\u3000", "\u2028", "\u0085", "\u1680", "  ", "\u001f"]
STRANGE = IDEOGRAPHS + MARKS + CURLY + SIGNS + EMOJI + NUMBERS


def character(rng):
    """Any character that does not end a line or a column."""
    c = rng.randrange(0x20, 0x3000) if rng.random() < 0.6 else rng.randrange(0x3000, 0x110000)
    return chr(c) if not 0xD800 <= c < 0xE000 else "\ud7ff"


def word(rng):
    kind = rng.random()
    if kind < 0.70:
        text = rng.choice(WORDS)
    elif kind < 0.82:
        text = rng.choice(NUMBERS)
    elif kind < 0.92:
        text = "".join(rng.choice(IDEOGRAPHS) for _ in range(rng.randint(1, 4)))
    else:
        text = rng.choice(STRANGE)
    around = rng.random()
    if around < 0.15:
        text += rng.choice(MARKS)
    elif around < 0.20:
        text = rng.choice(MARKS + CURLY) + text
    elif around < 0.27:
        text = rng.choice(CURLY) + text + rng.choice(CURLY + MARKS)
    elif around < 0.30:
        text += rng.choice(SIGNS + EMOJI + COMBINING)
    return text


def sentence(rng):
    if rng.random() < 0.12:  # few different words give many equal runs and many moves
        return [rng.choice(LETTERS) for _ in range(rng.randint(2, 16))]
    return [word(rng) for _ in range(rng.randint(1, 8))]


def damage(rng, words):
    words = list(words) or [word(rng)]
    at = rng.randrange(len(words))
    how = rng.randrange(12)
    if how == 0:
        del words[at]
    elif how == 1:
        words.insert(at, words[at])
    elif how == 2:
        other = rng.randrange(len(words))
        words[at], words[other] = words[other], words[at]
    elif how == 3:
        words[at] = word(rng)
    elif how == 4:
        words.insert(at, word(rng))
    elif how == 5:
        words[at] = rng.choice([str.upper, str.lower, str.title, str.swapcase])(words[at])
    elif how == 6:
        words[at] += rng.choice(MARKS + CURLY + SIGNS + COMBINING)
    elif how == 7:
        words[at] = words[at].strip(".,!?:;()[]'\"„“”‚‘’«»")
    elif how == 8:
        end = rng.randrange(at, len(words)) + 1  # a run moves
        run = words[at:end]
        del words[at:end]
        to = rng.randint(0, len(words))
        words[to:to] = run
    elif how == 9:
        characters = list(words[at])
        characters.insert(rng.randint(0, len(characters)), rng.choice(COMBINING + NUMBERS + CURLY))
        words[at] = "".join(characters)
    elif how == 10:
        words[at:at + 2] = ["".join(words[at:at + 2])]
    elif rng.random() < 0.3:
        words[at] = words[at] + character(rng) + character(rng)
    return words


def text(rng, words):
    """Joins the words with white space, which is rarely also at the ends."""
    out = "".join(w + (rng.choice(SPACES) if rng.random() < 0.08 else " ") for w in words)
    if rng.random() < 0.95:
        out = out.rstrip(" ")
    return (" " if rng.random() < 0.03 else "") + out


def long_pair(rng):
    """Pairs beyond the beam, the longest move, and the number of moves that are tried."""
    vocabulary = [chr(ord("a") + i) for i in range(rng.choice([2, 5, 26]))] + list("0123456789")[:rng.randrange(10)]
    reference = [rng.choice(vocabulary) for _ in range(rng.randint(1, 150))]
    if rng.random() < 0.5:
        start = rng.randrange(len(reference))
        return reference[start:] + reference[:start], reference
    return [rng.choice(vocabulary) for _ in range(rng.randint(1, 150))], reference


def pairs(num, seed):
    """(hypothesis, reference), num of them."""
    rng = random.Random(seed)
    made = []
    for i in range(num):
        if i % 200 == 199:
            hypothesis, reference = long_pair(rng)
        else:
            reference = sentence(rng)
            hypothesis = reference
            for _ in range(rng.choice([0, 1, 1, 2, 3, 4, 6])):
                hypothesis = damage(rng, hypothesis)
        if i % 67 == 66:
            hypothesis = []
        if i % 131 == 130:
            reference = []
        made.append((text(rng, hypothesis), text(rng, reference)))
    return made
