-- Whether "send nothing" is a candidate of a template.
ALTER TABLE templates ADD COLUMN IF NOT EXISTS send_nothing boolean NOT NULL DEFAULT false;
