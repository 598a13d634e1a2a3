// The console's words for the models that a key holder may use. A page must not have words of its own.

export const ownModels = {
  title: 'Models',
  model: 'Model',
  does: 'Capabilities',
  input: 'Input / 1M',
  output: 'Output / 1M',
  further: 'Other prices',
  context: 'Context',
  example: 'Example',
  ends: 'Ends',
  successor: 'Successor',
  filter: 'Search',
  empty: 'This key cannot use any model.',
  noneFound: 'No matching models.',
  tryIt: 'Try it in the playground',
  priceOf: (id: string) => `Prices of ${id}`,
  what: 'Unit',
  each: 'Price',
  route: (ids: string) => `Sent to the first of these that answers: ${ids}. You pay the price of that one.`,
  free: 'free',
  above: (size: string) => `above ${size} input tokens`,
  from: 'from ',
  /** `per_1m_input_tokens` is `1M input tokens`. */
  unit: (key: string) =>
    key
      .replace(/^per_/, '')
      .replace(/^(\d+)([km])_/, (_, count: string, factor: string) => `${count}${factor.toUpperCase()} `)
      .replaceAll('_', ' '),
  examples: {
    words: (cost: string) => `1,000 words in and out: about ${cost}`,
    embedded: (cost: string) => `100 pages of text: about ${cost}`,
    spoken: (cost: string) => `a page read aloud: about ${cost}`,
    picture: (cost: string) => `one picture: ${cost}`,
    seconds: (cost: string) => `five seconds: ${cost}`,
    minutes: (cost: string) => `a minute of audio: about ${cost}`,
  },
} as const
