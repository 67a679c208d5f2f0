import { call, commandGroup } from "./ApiCommand.ts"

const columns = { id: "id", state: "state", values: "values", removable: "removable" } as const

/** `parlance secret-key …` */
export const secretKeyCommand = commandGroup("secret-key", "Keys of SECRET_KEY, which encrypt stored secrets", {
  list: call("listSecretKeys", "List the keys, and how many values need each of them").result(({ keys }) => keys)
    .table(columns),
  reencrypt: call(
    "reencryptSecrets",
    "Encrypt all stored secrets with the first key of SECRET_KEY; earlier keys then become removable",
  ).text(({ changed, keys }) =>
    [
      `Encrypted ${changed} values again`,
      ...keys.flatMap(({ id, removable, state, values }) =>
        removable
          ? [
            `Key ${id} can be removed from SECRET_KEY, or its file DATA_DIR/secret-key deleted. Keep it with backups that were made before`,
          ]
          : state === "missing"
          ? [`${values} values need the missing key ${id}: add it to SECRET_KEY, or enter these secrets again`]
          : state === "decrypting"
          ? [`${values} values still need key ${id}: run the command again when all nodes have the new key`]
          : []
      ),
    ].join("\n")
  ),
})
