// Random requests of callers of generateContent.

import type { RequestCase } from '../bridges/request-cases'
import { many, PDF, PICTURE, sometimes, words } from '../bridges/request-samples'
import { createRandom, type Random } from '../random'
import type { Json } from '../scenario'

const inline = (url: string): Json => {
  const [, mimeType, data] = /^data:(.*);base64,(.*)$/.exec(url) ?? []
  return { inlineData: { mimeType, data } }
}
const parameters = { type: 'OBJECT', properties: { place: { type: 'STRING' } }, required: ['place'] }
const look = { name: 'look', description: 'Looks.', parameters }
const bare = { name: 'bare', description: 'Does nothing.' }

/** Fields that requests may have, each with a value. */
const fields: readonly Json[] = [
  { systemInstruction: { parts: [{ text: 'Be brief.' }] } },
  { system_instruction: { parts: [{ text: 'Be' }, { text: 'brief.' }] } },
  { generationConfig: { temperature: 0.5, maxOutputTokens: 300 } },
  { generationConfig: { topP: 0.9, topK: 20 } },
  { generationConfig: { stopSequences: ['END'] } },
  { generationConfig: { seed: 7, presencePenalty: 0.5, frequencyPenalty: 0.5 } },
  {
    generationConfig: {
      maxOutputTokens: 9_000,
      thinkingConfig: { includeThoughts: true, thinkingBudget: 1_024 },
    },
  },
  { generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } },
  { generationConfig: { responseMimeType: 'application/json', responseSchema: parameters } },
  { generationConfig: { candidateCount: 2 } },
  { generationConfig: { responseModalities: ['IMAGE'] } },
  { tools: [{ functionDeclarations: [look, bare] }] },
  { tools: [{ functionDeclarations: [look] }], toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
  { tools: [{ googleSearch: {} }] },
  { cachedContent: 'cachedContents/1' },
  { unknownField: 1 },
]

export function geminiCases(seed: number, count: number): RequestCase[] {
  const sampled = fields.map(
    (members, place): RequestCase => ({
      label: `sample ${place} ${Object.keys(members)}`,
      body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], ...members },
    }),
  )
  const random = Array.from({ length: count }, (_, place): RequestCase => {
    const chance = createRandom(seed + place)
    return {
      label: `random ${seed + place}`,
      body: { ...chance.pick(fields), contents: conversation(chance) },
    }
  })
  return [...sampled, ...random]
}

function conversation(random: Random): Json[] {
  const contents: Json[] = [{ role: 'user', parts: texts(random) }]
  for (let left = random.below(4); left > 0; left--) {
    const calls = many(random, 3, (place) => ({
      functionCall: {
        ...sometimes(random, 0.7, { id: `call_${contents.length}_${place}` }),
        name: 'look',
        args: { place: words(random) },
      },
    }))
    contents.push({ role: 'model', parts: [...texts(random, false), ...calls] })
    const results = calls.map(({ functionCall: { id, name } }) => ({
      functionResponse: { ...(id && { id }), name, response: { output: 'It rains.' } },
    }))
    contents.push({ role: 'user', parts: [...results, ...texts(random)] })
  }
  return contents
}

const texts = (random: Random, hasFiles = true): Json[] =>
  many(random, 3, () => {
    const file = random.pick([
      inline(PICTURE),
      inline(PDF),
      { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png' } },
    ])
    return hasFiles && random.chance(0.3) ? file : { text: words(random) }
  })
