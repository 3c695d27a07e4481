# data/corpora/lib/Apt.pm: fetches the corpus's packages with apt, as an ordinary user and without changing
# the system.
#
# apt runs with its lists and cache in our own folder. It uses the system's sources and keys, so signatures are
# checked as usual. Nothing is installed. Fetched files stay in the folder and are not fetched again:
#   help/en-US, help/de ...      LibreOffice's help pages, unpacked
#   Translation-en, Translation-de ...   descriptions of all packages of the release
package Apt;
use v5.28;
use warnings;
use Cwd qw(abs_path);
use File::Path qw(make_path remove_tree);
use POSIX ();

# Makes a fetcher for a folder, and for the languages of descriptions in apt's index ('en', 'de', 'pt_BR').
sub new {
    my ($class, $folder, @languages) = @_;
    return bless { folder => $folder, languages => \@languages }, $class;
}

# Fetches the help pages of a language ('en-US', 'de', 'pt-BR').
sub fetch_help {
    my ($self, $language) = @_;
    my $result = "$self->{folder}/help/$language";
    return if -d $result;
    $self->_fetch_index;
    my $package = 'libreoffice-help-' . lc $language;
    my ($debs, $unpacked) = map { "$self->{apt}/$_" } qw(debs unpacked);
    remove_tree($debs, $unpacked);
    make_path($debs, "$self->{folder}/help");
    say "fetching $package";
    $self->_run($debs, 'apt-get', '-c', $self->{conf}, 'download', $package);
    $self->_run($debs, 'dpkg-deb', '-x', (glob "$debs/*.deb")[0], $unpacked);
    rename "$unpacked/usr/share/libreoffice/help/$language", $result
        or die "$package has no pages in usr/share/libreoffice/help/$language\n";
    remove_tree($debs, $unpacked);
}

# Fetches the descriptions of all packages in one of the fetcher's languages.
sub fetch_descriptions {
    my ($self, $language) = @_;
    my $result = "$self->{folder}/Translation-$language";
    return if -f $result;
    $self->_fetch_index;
    my $format = '$(LANGUAGE) $(CODENAME) $(COMPONENT) $(ORIGIN) $(FILENAME)';
    my $targets = $self->_run($self->{apt}, 'apt-get', '-c', $self->{conf}, 'indextargets', '--format', $format,
                              'Created-By: Translations');
    my @files;
    for (split /\n/, $targets) {
        my ($tongue, $codename, $component, $origin, $file) = split / /, $_, 5;
        # Uses only the release, without updates, so that everybody gets the same text.
        next if $tongue ne $language || $codename =~ /-/ || $component !~ /^(?:main|universe)$/;
        push @files, $file if $origin =~ /^(?:Debian|Ubuntu)$/ && -f $file;
    }
    die "apt has no package descriptions in '$language'; see $self->{log}\n" unless @files;
    _join_files(\@files, $result);
}

# Fetches apt's index with our languages into our own folder, once.
sub _fetch_index {
    my ($self) = @_;
    return if $self->{apt};
    for my $program (qw(apt-get dpkg-deb)) {
        next if grep { -x "$_/$program" } split /:/, $ENV{PATH};
        die "$program is missing: this corpus is made from packages of Debian or Ubuntu\n";
    }
    make_path("$self->{folder}/apt/lists/partial");    # apt does not create it
    my $place = abs_path("$self->{folder}/apt");
    die "$place: apt cannot work in a folder with a quote in its name\n" if $place =~ /"/;
    @{$self}{qw(apt conf log)} = ($place, "$place/apt.conf", "$place/apt.log");
    my $languages = join ' ', map { qq("$_";) } @{ $self->{languages} };
    # With -c this file is read last, after the settings of container images. A list must be cleared before it
    # is set.
    open my $out, '>', $self->{conf} or die "$self->{conf}: $!\n";
    print {$out} <<"END";
#clear Acquire::Languages;
Acquire::Languages { $languages };
Acquire::GzipIndexes "false";
Dir::State::lists "$place/lists";
Dir::Cache "$place/cache";
END
    close $out or die "$self->{conf}: $!\n";
    say "fetching apt's index";
    $self->_run($place, 'apt-get', '-c', $self->{conf}, 'update');
    my @found = glob "'$place/lists/*_Packages*'";
    die "apt could not fetch its index; check the network, and see $self->{log}\n" unless @found;
}

# Removes apt's index, which is large. Fetched files stay.
sub forget_index {
    my ($self) = @_;
    remove_tree($self->{apt}) if $self->{apt};
}

# Joins files, completely or not at all.
sub _join_files {
    my ($files, $result) = @_;
    open my $out, '>:raw', "$result.partial" or die "$result.partial: $!\n";
    for my $file (@$files) {
        open my $in, '<:raw', $file or die "$file: $!\n";
        local $/ = \1_048_576;    # a piece of this size at a time
        while (my $piece = <$in>) { print {$out} $piece }
    }
    close $out or die "$result.partial: $!\n";
    rename "$result.partial", $result or die "$result: $!\n";
}

# Runs a program in a folder, with its output and errors in the log; returns its output. Dies with apt's last
# message.
sub _run {
    my ($self, $folder, @command) = @_;
    open my $log, '>>', $self->{log} or die "$self->{log}: $!\n";
    my $pid = open(my $pipe, '-|') // die "cannot start a process: $!\n";
    if (!$pid) {
        open STDERR, '>&', $log;
        $ENV{LC_ALL} = 'C';
        chdir $folder && exec @command;
        print STDERR "E: $!\n";
        POSIX::_exit(127);
    }
    my $output = do { local $/; <$pipe> } // '';
    return $output if close $pipe;
    open my $in, '<', $self->{log} or die "$self->{log}: $!\n";
    my ($complaint) = reverse grep { /^E: |error/ } <$in>;
    chomp($complaint //= "exit status " . ($? >> 8));
    die "$command[0] $command[-1]: $complaint\n";
}

1;
