-- A prepared transaction; two_phase_1.out is for servers with max_prepared_transactions = 0.
CREATE SEQUENCE g;
BEGIN;
SELECT next_id(1, 'g') AS first \gset
PREPARE TRANSACTION 'with a generator';
SELECT next_id(1, 'g') > :first AS greater;
COMMIT PREPARED 'with a generator';
SELECT next_id(1, 'g') > :first AS greater;
DROP SEQUENCE g;
