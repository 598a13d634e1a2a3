// The console's words of the models that a key holder may use. A page must not have words of its own.

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
  empty: 'This key may use no models.',
  noneFound: 'No model of this name.',
  tryIt: 'Try it in the playground',
  priceOf: (id: string) => `Prices of ${id}`,
  what: 'What',
  each: 'Price',
  route: (ids: string) =>
    `Goes to the first of these that answers: ${ids}. The price is that of the one that does.`,
  free: 'free',
  above: (size: string) => `above ${size} input tokens`,
  from: 'from ',
  examples: {
    words: (cost: string) => `1,000 words in and out: about ${cost}`,
    embedded: (cost: string) => `100 pages of text: about ${cost}`,
    spoken: (cost: string) => `a page read aloud: about ${cost}`,
    picture: (cost: string) => `one picture: ${cost}`,
    seconds: (cost: string) => `five seconds: ${cost}`,
    minutes: (cost: string) => `a minute of sound: about ${cost}`,
  },
} as const
