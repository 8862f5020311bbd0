-- For the contenders, in each database: the functions and sequences for comparison.
\ir baseline.sql
CREATE SEQUENCE plain;
CREATE SEQUENCE cached CACHE 100;
CREATE SEQUENCE roomy;
CREATE SEQUENCE in_ranges;
CREATE SEQUENCE set_on;
