-- How the password of an account was set: own (by its owner), administrator, invitation or link; null where that is not known.
-- A first sign-in by OpenID Connect removes a password that is not the owner's own.
ALTER TABLE accounts ADD COLUMN IF NOT EXISTS password_origin text;
ALTER TABLE accounts ADD COLUMN IF NOT EXISTS password_set_at timestamptz;

-- How a session began: password, link, invitation, first_run or openid; null for sessions of releases that did not record it.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS method text;

-- Members who sign in with a password must have a second factor.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS require_second_factor boolean NOT NULL DEFAULT false;

-- The TOTP secret of an account, sealed with SECRET_KEY. Not asked for until `confirmed_at`; `last_step` is the time step of
-- the last accepted code, so that no code is accepted twice.
CREATE TABLE IF NOT EXISTS second_factors (
  account_id text PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  secret text NOT NULL,
  created_at timestamptz NOT NULL,
  confirmed_at timestamptz,
  last_step bigint
);

-- Recovery codes of a second factor, as SHA-256 digests. Each works once.
CREATE TABLE IF NOT EXISTS recovery_codes (
  account_id text NOT NULL REFERENCES second_factors (account_id) ON DELETE CASCADE,
  digest text NOT NULL,
  created_at timestamptz NOT NULL,
  used_at timestamptz,
  PRIMARY KEY (account_id, digest)
);

-- Random keys that all nodes share to sign cookies with, by purpose.
CREATE TABLE IF NOT EXISTS signing_keys (
  name text PRIMARY KEY,
  key text NOT NULL,
  created_at timestamptz NOT NULL
);
