import "./runtime/leakGuard.ts"
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import { Cause, type Effect, Exit } from "effect"
import process from "node:process"

/**
 * Runs a program as this process. The program must report its failures itself. Ctrl-C and SIGTERM end it as intended.
 */
export const runAsProcess = <A, E>(program: Effect.Effect<A, E>): void =>
  NodeRuntime.runMain(program, {
    disableErrorReporting: true,
    teardown: (exit, onExit) =>
      onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? Number(process.exitCode ?? 0) : 1),
  })
