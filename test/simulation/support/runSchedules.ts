/** A simulation that can run many schedules. */
export interface Schedules {
  /** The test file, for the command that reproduces a failure. */
  readonly file: string
  /** The task that runs the file. */
  readonly task: "test" | "test:system"
  /** Schedules of the seeds from 1 to this number. `SIMULATION_SCHEDULES` replaces it. */
  readonly count: number
  /** Seeds that failed once. They run first. */
  readonly regressions: ReadonlyArray<number>
  /** Runs the schedule of a seed. Returns the first broken invariant in a sentence, undefined if all held. */
  readonly run: (seed: number) => string | undefined
}

/** The seed of `SIMULATION_SEED`, alone, or all seeds of the simulation. */
const seedsOf = ({ count, regressions }: Schedules): Iterable<number> => {
  const { SIMULATION_SCHEDULES: most = count, SIMULATION_SEED: only } = process.env
  return only === undefined
    ? [...regressions, ...Array.from({ length: Number(most) }, (_, n) => n + 1)]
    : [Number(only)]
}

/** Runs all schedules. Throws at the first that breaks an invariant, with the command that repeats it. */
export const runSchedules = (schedules: Schedules): void => {
  for (const seed of seedsOf(schedules)) {
    const broken = schedules.run(seed)
    if (broken === undefined) continue
    throw new Error(
      `Seed ${seed}: ${broken}\nRepeat it with: SIMULATION_SEED=${seed} deno task ${schedules.task} ${schedules.file}\n` +
        "Once it is mended, add the seed to the regressions of this simulation",
    )
  }
}

/** The first seed up to `most` whose schedule breaks an invariant, and which one; undefined if none does. */
export const firstBroken = (
  most: number,
  run: (seed: number) => string | undefined,
): { readonly seed: number; readonly broken: string } | undefined => {
  for (let seed = 1; seed <= most; seed++) {
    const broken = run(seed)
    if (broken !== undefined) return { seed, broken }
  }
  return undefined
}
