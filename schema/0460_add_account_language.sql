-- The language of the console that a person chose. NULL: the language of the browser.
ALTER TABLE accounts ADD COLUMN language text;
