/* Made by scripts/writeScripts.ts. */
globalThis.parlanceTexts={"locale":"de-DE","texts":{}}
