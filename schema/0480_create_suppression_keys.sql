-- Keys for digests of erased people's addresses in the suppression list. They are kept apart from SECRET_KEY, so that a
-- secret key can be removed after a rotation.
CREATE TABLE IF NOT EXISTS suppression_keys (
  -- The id of the secret key from which the key was derived. Digests contain it.
  id text NOT NULL PRIMARY KEY,
  -- The key in hexadecimal digits, encrypted.
  sealed text NOT NULL
);
