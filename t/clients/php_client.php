<?php
// Run by t/clients/drivers.pl: rows by PHP. The server is named by PGHOST, PGPORT and PGDATABASE.

function say(string $name, ...$values): void
{
    echo implode("\t", [$name, ...$values]), "\n";
}

function refused(callable $call): string
{
    try {
        return 'none: ' . $call();
    } catch (PDOException $error) {
        return $error->getCode();
    }
}

say('version', PHP_VERSION);
$pdo = new PDO('pgsql:', null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);

$insert = $pdo->prepare('INSERT INTO orders (customer) VALUES (?) RETURNING id');
$insert->execute(['Ada']);
$id = $insert->fetchColumn();
say('created', $id);
say('type', gettype($id));
say('exact', $pdo->query("SELECT id FROM orders WHERE customer = 'exact'")->fetchColumn());

say('last_insert_id', refused(fn () => $pdo->lastInsertId()));
say('last_insert_id_of_generator', refused(fn () => $pdo->lastInsertId('ids.shardid_seq')));
$pdo->query("SELECT nextval('invoice_numbers')");
say('last_insert_id_of_other', $pdo->lastInsertId());

$connection = pg_connect('');
$result = pg_query_params($connection, 'INSERT INTO orders (customer) VALUES ($1) RETURNING id', ['Ada']);
$id = pg_fetch_result($result, 0, 'id');
$exact = pg_fetch_result(pg_query($connection, "SELECT id FROM orders WHERE customer = 'exact'"), 0, 'id');
say('of_pgsql', $id);
say('exact_of_pgsql', gettype($exact), $exact);
