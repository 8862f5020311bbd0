# docs/migrating.md: the switch of the PL/pgSQL recipe while two sessions insert and two call the function, with the clock
# 10 s back: each client's ids after it are above all before it. Without the raise, or with a later epoch, they are not.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use Migrating;
use ShardidTest;

start_original();

sub use_recipe
{
	# The recipe itself may repeat an id under load.
	my @clients = (
		start_clients($original, 2, 'INSERT INTO insta5.photos (name) VALUES ($$x$$) ON CONFLICT DO NOTHING RETURNING id', dbname => $database),
		start_clients($original, 2, 'SELECT insta5.next_id()', dbname => $database));
	wait_for_more(\@clients, 200);
	return \@clients;
}

# How many ids each was told; the files come a moment after the clients.
sub counts_of
{
	my ($clients) = @_;
	return map { my $told = $_; map { -e $_ ? scalar(() = slurp_file($_) =~ /\n/g) : 0 } @{ $told->{files} } } @$clients;
}

# Until each client was told that many ids more.
sub wait_for_more
{
	my ($clients, $more) = @_;
	my @enough = map { $_ + $more } counts_of($clients);
	for (1 .. 3000)
	{
		my @counts = counts_of($clients);
		return unless grep { $counts[$_] < $enough[$_] } 0 .. $#counts;
		usleep 20_000;
	}
	die 'the clients are told nothing more';
}

# Switches while the recipe is used and the clock is 10 s back: what each client was told, and the id
# that divides old from new.
sub switch_under_load
{
	my ($switch) = @_;
	my $clients = use_recipe();
	clock('-10s');
	wait_for_more($clients, 20);
	my ($first_new) = on($switch) =~ /^insta5\|\d*\|(\d+)$/m;
	# More than 200: the clients' files are behind by a buffer, so ids from before the switch may be counted.
	wait_for_more($clients, 400);
	finish_clients($_, 1) for @$clients;
	return ([ map { @{ read_told($_) } } @$clients ], $first_new);
}

sub is_divided
{
	my ($told, $first_new) = @_;
	my (@before, @after);
	for my $list (@$told)
	{
		my $old = 0;
		$old++ while $old < @$list && $list->[$old] < $first_new;
		push @before, [ @$list[ 0 .. $old - 1 ] ];
		push @after, [ @$list[ $old .. $#$list ] ];
	}
	is(scalar(grep { @$_ < 200 } @before, @after), 0, "$database: each client drew before and after");
	is(scalar(grep { $_ < $first_new } map { @$_ } @after), 0, "$database: after its first new id none is told an old one");
	is_innocent(judge(\@after, lead_ms => -1), "$database: switch under load, clock 10 s back", 1);
	return;
}

my $users = q(SELECT adrelid::regclass FROM pg_attrdef WHERE pg_get_expr(adbin, adrelid) LIKE '%next_id()');
my %recipe = (recipe => {}, recipe_2012 => { epoch => '2012-01-01 00:00:00+00' });
for my $name (sort keys %recipe)
{
	my %layout = %{ $recipe{$name} };
	my $epoch = $layout{epoch};
	my $switch = recipe_switch($epoch);
	my $default = "next_id(5, 'insta5.photos_id_seq'" . ($epoch ? ", '$epoch')" : ')');

	new_database($name);
	create_recipe_of($epoch ? 1325376000000 : 1314220021721);
	is(on($users), "insta5.photos\ninsta5.likes", "$name: the tables whose default calls the function");
	my @generator = ('insta5.photos', 'insta5.photos_id_seq', %layout);
	is(answer(@generator), 'yes: there is none', "$name: an empty table");
	on($insert_photo) for 1 .. 3;
	is(answer(@generator), 'yes, if the clock is right', "$name: a clock that is right");
	clock('-10s');
	is(answer(@generator), 'no', "$name: one that is behind");
	is(next_is_above('insta5.photos', $default), 'f', "$name: and so it is");
	on("SELECT setval('insta5.photos_id_seq', 3)");
	clock('+0');

	is_divided(switch_under_load($switch));
	is(answer(@generator), 'yes', "$name: after the switch");
	is(next_is_above('insta5.photos', $default), 't', "$name: and so it is");
	is(on("SELECT count(DISTINCT id_shard(id)), min(id_shard(id)) FROM insta5.photos"), '1|5', "$name: all of one shard");
	my $of_epoch = $epoch ? ", '$epoch'" : '';
	is( on("SELECT bool_and(id_timestamp(id$of_epoch) BETWEEN now() - interval '1 hour' AND now() + interval '1 hour') FROM insta5.photos"),
		't', "$name: old and new tell their time by the same call");
	on(q(INSERT INTO insta5.likes (photo) SELECT max(id) FROM insta5.photos));
	is(on('SELECT id > photo FROM insta5.likes'), 't', "$name: both tables draw from it");
	goes_on_restored('insta5.photos', $insert_photo, 5);
}

# A switch that leaves out the raise is what the query warns of.
new_database('without_raise');
create_recipe_of(1314220021721);
on($insert_photo);
clock('-10s');
on(recipe_switch() =~ s/^SELECT 'insta5' AS schema.*?;\n//msr);
is(answer('insta5.photos', 'insta5.photos_id_seq'), 'no', 'without the raise: no');
is(on($insert_photo . ' < (SELECT max(id) FROM insta5.photos)'), 't', 'without the raise a new id is below an old one');

# An epoch later than the recipe's, and a clock that is right.
new_database('later_epoch');
create_recipe_of(1262304000000);
on($insert_photo);
is(answer('insta5.photos', 'insta5.photos_id_seq'), 'no', 'an epoch later than that of the old ids: no');
is(next_is_above('insta5.photos', "next_id(5, 'insta5.photos_id_seq')"), 'f', 'and so it is');
like(fails("\\set VERBOSITY sqlstate\n" . recipe_switch()), qr/^ERROR:  55000$/m, 'the switch is refused');
like(on($users), qr/photos.*likes/s, 'and nothing has happened');

stop_servers();
done_testing();
