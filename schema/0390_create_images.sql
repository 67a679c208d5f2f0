-- Images of organizations. Messages show them by an address of the service.
CREATE TABLE IF NOT EXISTS images (
  org_slug text NOT NULL REFERENCES organizations (slug),
  -- SHA-256 of the file, in hexadecimal digits.
  id text NOT NULL,
  -- The name of the uploaded file, without its folder.
  name text NOT NULL,
  -- png, jpeg, gif or webp, by the content of the file.
  type text NOT NULL,
  -- Pixels.
  width integer NOT NULL,
  height integer NOT NULL,
  -- Bytes of the file.
  size integer NOT NULL,
  file bytea NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, id)
);
-- Image files are compressed: the database must not try again.
ALTER TABLE images ALTER COLUMN file SET STORAGE EXTERNAL;
