-- Minimum share of the runner-up of a template until there is a verdict, divided by the number of candidates. 0 to 0.2.
ALTER TABLE templates ADD COLUMN IF NOT EXISTS runner_up_floor double precision NOT NULL DEFAULT 0;
