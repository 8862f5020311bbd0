SELECT nextval('plain');
