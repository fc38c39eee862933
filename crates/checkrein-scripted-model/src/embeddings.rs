//! Vectors as OpenAI's endpoint answers them, by the words of a text.

use serde_json::{Value, json};

use crate::script::Embeddings;

/// Words without a group share so many dimensions.
const OTHERS: usize = 32;

pub fn answer(script: &Embeddings, body: &Value) -> Value {
    let texts: Vec<&str> = match body.get("input") {
        Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => vec![text],
        _ => Vec::new(),
    };
    // Their order says nothing; the index does.
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .rev()
        .map(
            |(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(script, text)}),
        )
        .collect();
    json!({"object": "list", "data": data, "model": body.get("model"), "usage": {"prompt_tokens": 0, "total_tokens": 0}})
}

fn vector(script: &Embeddings, text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; script.alike.len() + OTHERS];
    let lower = text.to_lowercase();
    for word in lower.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let group = script.alike.iter().position(|alike| alike.iter().any(|known| known == word));
        let (place, weight) = match group {
            Some(group) => (group, 4.0),
            None => (script.alike.len() + word.bytes().map(usize::from).sum::<usize>() % OTHERS, 1.0),
        };
        if let Some(value) = vector.get_mut(place) {
            *value += weight;
        }
    }
    vector
}
