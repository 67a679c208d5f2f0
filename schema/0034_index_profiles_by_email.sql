-- Finds a person by e-mail address.
CREATE INDEX IF NOT EXISTS profiles_by_email ON profiles (org_slug, lower(email)) WHERE email IS NOT NULL;
