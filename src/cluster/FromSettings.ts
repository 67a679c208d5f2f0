import { Effect, Layer, Option } from "effect"
import { Settings } from "../Settings.ts"
import * as Nodes from "./Nodes.ts"
import * as SingleProcess from "./SingleProcess.ts"

/** With `CLUSTER_ADDRESS` a node of a cluster, else this process alone. */
export const layer = Layer.unwrap(Effect.map(Settings, ({ clusterAddress, clusterListen, clusterSecret }) => {
  if (Option.isNone(clusterAddress) || Option.isNone(clusterSecret)) return SingleProcess.layer
  return Nodes.layer({
    address: clusterAddress.value,
    listen: Option.getOrElse(clusterListen, () => clusterAddress.value),
    secret: clusterSecret.value,
  })
}))
