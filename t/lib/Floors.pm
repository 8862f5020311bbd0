# A model of one generator: what it must not be below, whatever a transaction and its savepoints do. It is told each
# statement with what came of it, and says what is wrong.
package Floors;

use strict;
use warnings;

my $epoch_ms = 1314220021721;
our %sequence_bits = (a => 10, b => 14);
our %arguments = (a => '', b => ', shard_bits => 9, sequence_bits => 14');

sub new { return bless { storage => { floor => 1, called => 0 }, savepoints => [] }, shift }

sub position_at
{
	my ($layout, $ms, $number) = @_;
	return ($ms - $epoch_ms) << $sequence_bits{$layout} | $number;
}

sub tick_of
{
	my ($layout, $id) = @_;
	return $id >> 23 << $sequence_bits{$layout} | $id & (1 << $sequence_bits{$layout}) - 1;
}

# As storage remembers what was drawn from other storage of the generator: in its own layout, else not.
sub remember
{
	my ($storage, $layout, $tick) = @_;
	return if ($storage->{layout} // $layout) ne $layout || $tick < $storage->{floor} + $storage->{called};
	@$storage{qw(floor called layout)} = ($tick, 1, $layout);
	return;
}

sub is_replaced { return $_[0]{storage} != $_[0]{original} }

sub drawn
{
	my ($model, $layout, $tick) = @_;
	$model->used;
	my $storage = $model->{storage};
	my $wrong = $tick < $storage->{floor} + $storage->{called} ? "$tick drawn below $storage->{floor}" : '';
	@$storage{qw(floor called layout)} = ($tick, 1, $layout);
	$model->{drawn}{$tick} = $layout;
	if ($model->is_replaced)
	{
		remember($model->{original}, $layout, $tick);
		unshift @{ $_->{lost} }, [ $storage, $layout, $tick ] for @{ $model->{savepoints} };
	}
	return $wrong;
}

# A raise generates an id, too, if the storage was replaced; else it binds storage that is further already, too.
sub raised
{
	my ($model, $layout, $tick) = @_;
	return $model->drawn($layout, $tick) if $model->is_replaced;
	my $storage = $model->{storage};
	@$storage{qw(floor called layout)} = ($tick > $storage->{floor} ? $tick : $storage->{floor}, 1, $layout);
	return '';
}

sub set
{
	my ($model, $floor, $called) = @_;
	@{ $model->{storage} }{qw(floor called)} = ($floor, $called);
	return '';
}

# ALTER SEQUENCE, with RESTART or as it is.
sub altered
{
	my ($model, $floor) = @_;
	my $storage = $model->{storage};
	$model->{storage} = defined $floor ? { floor => $floor, called => 0 } : { floor => $storage->{floor}, called => $storage->{called} };
	return '';
}

sub begin
{
	my ($model) = @_;
	$model->{original} = $model->{storage};
	$model->{drawn} = {};
	return;
}

sub savepoint
{
	my ($model) = @_;
	push @{ $model->{savepoints} }, { storage => $model->{storage}, lost => [] };
	return '';
}

sub release
{
	my ($model) = @_;
	pop @{ $model->{savepoints} };
	return '';
}

# What is lost is remembered by the storage that is in use when the generator is next used, or at the end. The last
# layout comes first, and storage without a layout takes that one only.
sub rolled_back_to
{
	my ($model) = @_;
	my $savepoint = $model->{savepoints}[-1];
	$model->{storage} = $savepoint->{storage};
	$model->{lost} = $savepoint->{lost} if @{ $savepoint->{lost} };
	$savepoint->{lost} = [];
	return '';
}

sub used
{
	my ($model) = @_;
	my $storage = $model->{storage};
	my @lost = grep { $_->[0] != $storage } @{ delete $model->{lost} // [] };
	return if !@lost || !$model->is_replaced;
	my $layout = $storage->{layout} // $lost[0][1];
	my ($most) = sort { $b <=> $a } map { $_->[2] } grep { $_->[1] eq $layout } @lost;
	remember($storage, $layout, $most) if defined $most;
	return;
}

sub ended
{
	my ($model, $is_committed) = @_;
	$model->used;
	$model->{storage} = $model->{original} unless $is_committed;
	$model->{savepoints} = [];
	delete $model->{original};
	return;
}

# Between transactions: what follows continues from the position that is seen. After a crash, storage with a layout is
# ahead of what was drawn from it by what was logged ahead, and an ALTER SEQUENCE copies this to storage without one.
# Storage that has remembered a tick without need has taken its layout, too.
sub seen
{
	my ($model, $position) = @_;
	my $storage = $model->{storage};
	return if $position <= $storage->{floor};
	@$storage{qw(floor called)} = ($position, 1);
	$storage->{layout} //= $model->{drawn}{$position};
	return;
}

# What is wrong with a position that is seen, when nothing can be later than $last_ms. Storage without a layout can be at
# any tick of the transaction: after ROLLBACK TO, what was drawn before a RESTART is remembered, too.
sub judge
{
	my ($model, $position, $last_ms) = @_;
	my ($floor, $layout) = @{ $model->{storage} }{qw(floor layout)};
	return "at $position, below $floor" if $position < $floor;
	return '' if !defined $layout && $model->{drawn}{$position};
	my $most = defined $layout ? position_at($layout, $last_ms, 0) : $floor;
	return $position > $floor && $position > $most ? "at $position, and may be at $floor or $most" : '';
}

1;
