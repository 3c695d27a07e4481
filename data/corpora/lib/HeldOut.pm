# data/corpora/lib/HeldOut.pm: selects held-out documents, and measures how much of a held-out set the
# training text repeats.
#
# Whole documents are held out, never single sentences. A hash of the documents' names selects the same
# documents on every machine, whatever else the corpus contains. All packages of a family are one document, so
# that libfoo1, libfoo-dev and python3-foo stay together.
package HeldOut;
use v5.28;
use warnings;
use utf8;
use Exporter 'import';
use Digest::MD5 qw(md5_hex);
our @EXPORT_OK = qw(part_of package_family clean_set);

my %test_rate = (lohelp => 0.04, ddtp => 0.05);
use constant DEVELOPMENT_RATE => 0.01;
use constant MAX_COVERAGE     => 0.5;

# Returns the part of a pair: 'test', 'dev' or 'train'.
sub part_of {
    my ($pair) = @_;
    my $kind = $pair->{kind};
    my $document = $kind eq 'ddtp' ? package_family($pair->{document}) : $pair->{document};
    return 'test' if _share("$kind$document") < $test_rate{$kind};
    return 'dev'  if _share("dev$kind$document") < DEVELOPMENT_RATE;
    return 'train';
}

sub _share {    # maps a name to a number from 0 to 1
    my ($name) = @_;
    utf8::encode($name);
    return hex(substr md5_hex($name), 0, 8) / 2**32;
}

sub package_family {
    my ($package) = @_;
    $package =~ s/^(?:librust-|lib|python3?-|node-|golang-|ruby-|r-cran-|texlive-|fonts-|php-|haskell-)//;
    $package =~ s/[-+.0-9].*//;
    return substr $package, 0, 6;
}

# Removes from a held-out set the pairs that the training part repeats: pairs with a side that occurs there, and
# pairs with half or more of the source's 4-grams there. Returns {pairs, num_distinct, coverage (mean)}.
sub clean_set {
    my ($held_out, $training) = @_;
    my (%known, %in_training);    # normalized text or 4-gram => 1 if the training part contains it
    my @normal = map { [ _normalise($_->{source}), _normalise($_->{target}) ] } @$held_out;
    for my $pair (@normal) {
        $known{"s$pair->[0]"} = $known{"t$pair->[1]"} = 0;
        $in_training{$_} = 0 for _four_grams($pair->[0]);
    }
    for my $pair (@$training) {
        my ($source, $target) = (_normalise($pair->{source}), _normalise($pair->{target}));
        for ("s$source", "t$target") { $known{$_} = 1 if exists $known{$_} }
        for (_four_grams($source)) { $in_training{$_} = 1 if exists $in_training{$_} }
    }
    my %result = (pairs => [], num_distinct => 0, coverage => 0);
    for my $i (0 .. $#normal) {
        my ($source, $target) = @{ $normal[$i] };
        next if $known{"s$source"} || $known{"t$target"};
        my @grams = _four_grams($source);
        my $covered = grep { $in_training{$_} } @grams;
        my $coverage = @grams ? $covered / @grams : 1;
        ++$result{num_distinct};
        $result{coverage} += $coverage;
        push @{ $result{pairs} }, $held_out->[$i] if $coverage < MAX_COVERAGE;
    }
    $result{coverage} /= $result{num_distinct} || 1;
    return \%result;
}

sub _normalise {    # keeps only letters
    my $text = lc $_[0];
    return join ' ', $text =~ /[\p{L}\p{M}]+/g;
}

sub _four_grams {
    my @words = split ' ', $_[0];
    return map { join ' ', @words[ $_ .. $_ + 3 ] } 0 .. $#words - 3;
}

1;
