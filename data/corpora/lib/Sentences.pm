# data/corpora/lib/Sentences.pm: splits aligned paragraphs into aligned sentences, and selects those to keep.
#
# A collection is a list of pairs {source, target, kind, document}. If the same (source, target) occurs again,
# only the first occurrence is kept. Texts are Perl character strings with single spaces.
package Sentences;
use v5.28;
use warnings;
use utf8;
use Exporter 'import';
our @EXPORT_OK = qw(new_collection add_paragraphs split_sentences tidy num_words has_enough_letters);

use constant MAX_WORDS => 80;

# A sentence continues after these abbreviations, in any language, because both sides must be split equally.
my %abbreviation = map { $_ => 1 } qw(
    e.g. i.e. etc. vs. cf. al. no. St. Dr. Mr. Inc. p. ex. approx.
    z.B. d.h. bzw. usw. ca. u.a. z. d. e. i. B. h. o. a. Nr. ggf. evtl. inkl. resp.);

sub new_collection { return { pairs => [], seen => {} } }

# Converts white space of every kind to one space, and removes zero-width spaces.
sub tidy {
    my ($text) = @_;
    $text =~ s/\x{200B}//g;
    $text =~ s/\s+/ /g;
    $text =~ s/^ | $//g;
    return $text;
}

sub num_words { return 1 + ($_[0] =~ tr/ //) }

sub split_sentences {
    my ($text) = @_;
    my @tokens = split / /, $text;
    my (@sentences, @open);
    for my $i (0 .. $#tokens) {
        push @open, $tokens[$i];
        next if $i < $#tokens && !_ends_sentence($tokens[$i], $tokens[$i + 1]);
        push @sentences, join ' ', @open;
        @open = ();
    }
    return @sentences;
}

sub _ends_sentence {
    my ($token, $next) = @_;
    return $token =~ /[.!?]["')»“]?$/
        && !$abbreviation{$token}
        && $token !~ /^\(?[A-Za-z]\.$/
        && $next =~ /^["(»„]?[0-9A-ZÄÖÜÉÀ]/;
}

# Returns true if half or more of the characters are letters, which excludes formulas, key tables and paths.
sub has_enough_letters {
    my ($source) = @_;
    my $letters = () = $source =~ /\p{L}/g;
    return 2 * $letters >= length $source;
}

# Adds a paragraph's sentences if both sides have the same number of sentences; otherwise adds the paragraph as
# one pair. `accepts` is a filter for sources.
sub add_paragraphs {
    my ($collection, $kind, $document, $source, $target, $accepts) = @_;
    my @sources = split_sentences($source);
    my @targets = split_sentences($target);
    if (@sources != @targets) {
        @sources = ($source);
        @targets = ($target);
    }
    for my $i (0 .. $#sources) {
        my ($s, $t) = ($sources[$i], $targets[$i]);
        next unless _keep($s, $t) && $accepts->($s);
        next if $collection->{seen}{"$s\t$t"}++;
        push @{ $collection->{pairs} }, { source => $s, target => $t, kind => $kind, document => $document };
    }
}

sub _keep {
    my ($source, $target) = @_;
    return 0 if $source eq $target || $source eq '' || $target eq '';
    my ($n, $m) = (num_words($source), num_words($target));
    return $n <= MAX_WORDS && $m <= MAX_WORDS
        && $n <= 3 * $m + 3 && $m <= 3 * $n + 3
        && index("$source$target", "\x{FFFD}") < 0;
}

1;
