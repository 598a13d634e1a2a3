// Refusals of Amazon Bedrock for Claude's newest models that Anthropic does not have, in the recorded words (test/vendors/bedrock):
// its request schema lacks two fields. It must never use the gateway's knowledge of a model.

import { asObject, asObjects, isGiven, type JsonObject } from '../json'

const WITHOUT_SCHEMAS = /^claude-(opus-4-[78]|opus-5|sonnet-5|fable-5)/

/** The first field of a messages request that the schema of its model lacks. */
export function findSchemaFault(
  model: string,
  { tools, output_config: config }: JsonObject,
): string | undefined {
  if (!WITHOUT_SCHEMAS.test(model)) return undefined
  const strict = asObjects(tools).findIndex((tool) => isGiven(tool.strict))
  if (strict >= 0) return `tools.${strict}.custom.strict: Extra inputs are not permitted`
  return isGiven(asObject(config)?.format)
    ? 'output_config.format: Extra inputs are not permitted'
    : undefined
}
