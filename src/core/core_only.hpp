// Tripwire: every pure header includes this first, so that none of them can come to lean on
// PostgreSQL. Deliberately without an include guard.
#if defined(POSTGRES_H) || defined(C_H)
#error "a pure header must be included before, and never include, PostgreSQL's headers"
#endif
