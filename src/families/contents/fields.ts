// The fields of generateContent that vendors bill separately, or that refer to stored data. Each name is read in two spellings, in any
// mixture. Data only. https://ai.google.dev/gemini-api/docs/pricing

import type { FieldRule } from '../../contract/family'
import { spellings } from '../dialects/gemini/body'
import { geminiRules, soundIn, tierRules } from '../dialects/gemini/fields'
import { ANOTHER_MODEL } from '../surcharges'
import { documentStores, earlierAnswers, namedCaches } from '../vendor-state'

const RUN_BY_VENDOR = {
  why: 'a tool that the vendor runs reads more than is held, or is billed by its use, and answers do not say how much that was',
  instead: 'Leave it out, and give the model your own function for this.',
}

/** The rule in each spelling of its field. */
const spelled = (rule: FieldRule): FieldRule[] => spellings(rule.field).map((field) => ({ ...rule, field }))

export const contentsFieldRules: readonly FieldRule[] = [
  ...geminiRules,
  ...soundIn(
    'contents[].parts[].functionResponse.parts[].inlineData',
    'contents[].parts[].functionResponse.parts[].fileData',
  ),
  ...tierRules,
  ...namedCaches(...spellings('cachedContent')),
  ...documentStores(...spellings('tools[].fileSearch'), 'tools[].retrieval'),
  ...earlierAnswers(...spellings('continuationToken')),
  ...['outputConfig', 'generationOutputConfig', 'modelArmorConfig'].flatMap((field) =>
    spelled({
      field,
      why: "it names what is kept in the vendor's account",
      instead: 'Leave it out.',
      state: true,
    }),
  ),
  ...['routingConfig', 'modelConfig', 'modelSelectionConfig'].flatMap((name) =>
    spelled({ field: `generationConfig.${name}`, why: ANOTHER_MODEL, always: true }),
  ),
  ...spelled({
    field: 'generationConfig.responseFormat',
    why: 'it may ask for pictures, sound or films, which have prices of their own',
    instead: "Use 'responseMimeType', 'responseJsonSchema' and 'responseModalities'.",
  }),
  ...spelled({
    field: 'tools[].googleSearch',
    why: 'it searches the web, which is billed by the search',
    price: 'web_search',
    orPrice: 'grounded_prompt',
  }),
  // `urlContext` and `codeExecution` cost the tokens of what they find, which the usage reports
  // (ai.google.dev/gemini-api/docs/url-context and …/code-execution, 2026-11).
  ...[
    'googleSearchRetrieval',
    'enterpriseWebSearch',
    'googleMaps',
    'computerUse',
    'mcpServers',
    'parallelAiSearch',
    'exaAiSearch',
  ].flatMap((name) => spelled({ field: `tools[].${name}`, ...RUN_BY_VENDOR })),
  ...spelled({
    field: 'generationConfig.responseModalities[]',
    plain: /^(?:modality_unspecified|text|audio)$/i,
    why: 'pictures in an answer have a price of their own',
    price: 'output_image_token',
  }),
  ...spelled({
    field: 'generationConfig.responseModalities[]',
    plain: /^(?:modality_unspecified|text|image)$/i,
    why: 'spoken output has a price of its own',
    price: 'output_audio_token',
  }),
]
