# data/corpora/lib/PackageDescriptions.pm: aligns sentences of apt's translated package descriptions.
#
# A stanza contains the MD5 of the English text that its translator saw, so descriptions are paired exactly. The
# document of a pair is the English stanza's package.
package PackageDescriptions;
use v5.28;
use warnings;
use utf8;
use Exporter 'import';
use Sentences qw(add_paragraphs tidy);
our @EXPORT_OK = qw(collect_descriptions body_paragraphs);

# Takes the Translation-xx files of the two languages (plain text), and the languages in their field names
# ('en', 'de'). Returns the number of paired descriptions.
sub collect_descriptions {
    my ($collection, $source_file, $source_language, $target_file, $target_language) = @_;
    my ($digests, $targets) = _read_stanzas($target_file, $target_language, undef);
    my (undef, $sources) = _read_stanzas($source_file, $source_language, $targets);
    my $num_descriptions = 0;
    for my $digest (@$digests) {
        my ($source, $target) = ($sources->{$digest}, $targets->{$digest});
        next unless $source;
        ++$num_descriptions;
        my @pairs = ([ $source->{short}, $target->{short} ]);
        my @from = body_paragraphs($source->{body});
        my @to   = body_paragraphs($target->{body});
        push @pairs, map { [ $from[$_], $to[$_] ] } 0 .. $#from if @from == @to;
        for my $pair (@pairs) {
            my ($from, $to) = @$pair;
            next if $to eq '' || $to eq $from || index($to, '<trans') >= 0;    # <trans> marks an untranslated part
            add_paragraphs($collection, 'ddtp', $source->{package}, $from, $to, sub { $_[0] =~ /[a-z]/ });
        }
    }
    return $num_descriptions;
}

# Returns digests in the order of first stanzas, and digest => last stanza. If `wanted` is given, skips others.
sub _read_stanzas {
    my ($file, $language, $wanted) = @_;
    my (@digests, %stanza);
    open my $in, '<:raw', $file or die "$file: $!\n";
    local $/ = '';    # stanzas end at empty lines
    while (my $text = <$in>) {
        my ($digest) = $text =~ /^Description-md5: *(\S+)/m or next;
        next if $wanted && !$wanted->{$digest};
        utf8::decode($text) or die "$file: the stanza of MD5 $digest is not UTF-8\n";
        my ($package) = $text =~ /^Package: *(\S+)/m or next;
        my ($short, $body) = $text =~ /^Description-\Q$language\E: *(.*)\n((?: .*\n?)*)/m or next;
        push @digests, $digest unless exists $stanza{$digest};
        $stanza{$digest} = { package => $package, short => tidy($short), body => $body };
    }
    return (\@digests, \%stanza);
}

# Returns the paragraphs and list items of a body. A change of kind or a line with only a dot ends a paragraph.
sub body_paragraphs {
    my ($body) = @_;
    my (@paragraphs, @open);
    my $kind = '';
    my $close = sub {
        my $text = tidy(join ' ', @open);
        push @paragraphs, $text if $text ne '';
        @open = ();
        $kind = '';
    };
    for my $line (split /\n/, $body) {
        $line =~ s/^ //;
        if ($line =~ /^\s*\.\s*$/) {
            $close->();
        } elsif ($line =~ /^ +[-*+o•](?:\s+|$)(.*)/ || $line =~ /^[-*•](?:\s+|$)(.*)/) {
            $close->();
            $kind = 'item';
            push @open, $1;
        } elsif ($line =~ /^ /) {
            $close->() if $kind ne 'item';    # a verbatim line is a paragraph of its own
            push @open, $line;
            $close->() if $kind ne 'item';
        } else {
            $close->() if $kind ne 'text';
            $kind = 'text';
            push @open, $line;
        }
    }
    $close->();
    return @paragraphs;
}

1;
