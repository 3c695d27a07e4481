# data/corpora/lib/LibreOfficeHelp.pm: aligns sentences of LibreOffice's help pages in two languages.
#
# Every paragraph contains the id that its translator saw, so paragraphs are paired exactly, by page and id. The
# document of a pair is its page. Pages are read in bytewise order, so that a repeated pair always belongs to
# the same page.
package LibreOfficeHelp;
use v5.28;
use warnings;
use utf8;
use Exporter 'import';
use File::Find ();
use Sentences qw(add_paragraphs tidy has_enough_letters);
our @EXPORT_OK = qw(collect_help paragraphs_of_page);

my %entity = (lt => '<', gt => '>', amp => '&', quot => '"', apos => "'", nbsp => "\x{A0}");

# Takes the folders of the two languages, each with text/**/*.html. Returns the number of aligned paragraphs.
sub collect_help {
    my ($collection, $source_folder, $target_folder) = @_;
    my $num_paragraphs = 0;
    for my $page (_pages("$source_folder/text")) {
        my $target_file = "$target_folder/text/$page";
        next unless -f $target_file;
        my ($ids, $sources) = paragraphs_of_page(_read("$source_folder/text/$page"));
        my (undef, $targets) = paragraphs_of_page(_read($target_file));
        for my $id (@$ids) {
            next unless exists $targets->{$id};
            ++$num_paragraphs;
            next if $sources->{$id} eq $targets->{$id};    # not translated
            add_paragraphs($collection, 'lohelp', $page, $sources->{$id}, $targets->{$id}, \&has_enough_letters);
        }
    }
    return $num_paragraphs;
}

# Returns the ids in page order, and id => text. If an id is repeated, its first non-empty text counts.
sub paragraphs_of_page {
    my ($html) = @_;
    my (@ids, %text);
    while ($html =~ m{<(p|h[1-6])\s+id="([^"]*)"[^>]*>(.*?)</\1>}gs) {
        my ($id, $content) = ($2, $3);
        next if exists $text{$id};
        $content =~ s/<[^>]*>//g;
        $content =~ s/&(#[0-9]+|#[xX][0-9a-fA-F]+|[a-z]+);/_character($1)/ge;
        $content = tidy($content);
        next if $content eq '';
        $text{$id} = $content;
        push @ids, $id;
    }
    return (\@ids, \%text);
}

sub _character {    # returns the character of an entity, or an unknown entity unchanged
    my ($name) = @_;
    return chr $1     if $name =~ /^#([0-9]+)/;
    return chr hex $1 if $name =~ /^#[xX](.*)/;
    return $entity{$name} // "&$name;";
}

sub _pages {
    my ($folder) = @_;
    my @pages;
    File::Find::find({ no_chdir => 1, wanted => sub { push @pages, substr $_, 1 + length $folder if /\.html$/ && -f } },
                     $folder);
    return sort @pages;
}

sub _read {
    my ($file) = @_;
    open my $in, '<:raw', $file or die "$file: $!\n";
    local $/;
    my $text = <$in>;
    utf8::decode($text) or die "$file: not UTF-8\n";
    return $text;
}

1;
