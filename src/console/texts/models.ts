// The console's words for the page of models. A page must not have words of its own.

export const models = {
  title: 'Models',
  model: 'Model',
  operations: 'Operations',
  upstream: 'Upstream',
  upstreams: 'Upstreams',
  price: 'Price',
  requests: 'Requests',
  failed: 'Failed',
  firstByte: 'First byte',
  duration: 'Last byte, p50',
  route: 'Route',
  tokenPrice: (input: string, output: string) => `${input} in, ${output} out per 1M tokens`,
  free: 'free',
  empty: 'No matching models. The configuration lists them under models.',
  unknown: (id: string) => `There is no model ${id} in the configuration in force.`,
  reason: 'Reason',
  owner: 'Owner',
  aliases: 'Aliases',
  upstreamModel: "Vendor's name",
  ends: 'Ends',
  successor: 'Successor',
  handsOver: (successor: string) => `${successor}, which takes over on that day`,
  source: (source: string, asOf: string | null) => `From ${source}${asOf ? ` as of ${asOf}` : ''}`,
  cost: 'Cost',
  margin: 'Margin',
  unitTitle: 'Unit',
  costAt: (upstream: string) => `Cost at ${upstream}`,
  marginAt: (upstream: string) => `Margin at ${upstream}`,
  calculator: 'Price calculator',
  calculate: 'Calculate',
  variant: 'Size or quality',
  unit: unitText,
  countedUnit: (unit: string) => unit.replaceAll('_', ' '),
  unitPrice: (usd: string, unit: string) => `${usd} ${unitText(unit)}`,
  unitPriceFrom: (usd: string, unit: string) => `from ${usd} ${unitText(unit)}`,
}

/** A unit of a price list: `per_1m_input_tokens` is `per 1M input tokens`. */
function unitText(key: string): string {
  return key.replace(/^per_1m_(.*)$/, 'per 1M $1').replaceAll('_', ' ')
}
