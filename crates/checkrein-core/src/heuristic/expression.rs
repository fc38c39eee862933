//! Expressions over signals: the part of CEL (the Common Expression Language) that heuristics need.
//!
//! Numbers, texts, lists, `? :`, `&&`, `||`, comparisons, arithmetic, `in`, a few functions. Unlike in CEL, whole and decimal
//! numbers mix. An expression always ends: there is no loop but over a list that is there.

use crate::document::closest;

/// Deeper ones are refused, so that reading one cannot use up the stack.
const DEPTH_MAX: usize = 50;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    List(Vec<Value>),
}

/// An expression that was read, all of whose names are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression(Node);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Literal(Value),
    Name(String),
    List(Vec<Node>),
    Not(Box<Node>),
    Negative(Box<Node>),
    Binary(Operator, Box<(Node, Node)>),
    Choice(Box<(Node, Node, Node)>),
    Call(Function, Vec<Node>),
    /// A condition for each item of a list, which has this name in it.
    Each(Quantifier, Box<(Node, Node)>, String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Size,
    Int,
    Double,
    Contains,
    StartsWith,
    EndsWith,
}

#[derive(Clone, Copy)]
struct KnownFunction {
    name: &'static str,
    function: Function,
    /// How many values it takes; `x.f(y)` is `f(x, y)`.
    takes: usize,
}

const FUNCTIONS: [KnownFunction; 6] = [
    KnownFunction { name: "size", function: Function::Size, takes: 1 },
    KnownFunction { name: "int", function: Function::Int, takes: 1 },
    KnownFunction { name: "double", function: Function::Double, takes: 1 },
    KnownFunction { name: "contains", function: Function::Contains, takes: 2 },
    KnownFunction { name: "startsWith", function: Function::StartsWith, takes: 2 },
    KnownFunction { name: "endsWith", function: Function::EndsWith, takes: 2 },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantifier {
    Exists,
    All,
    Filter,
}

const QUANTIFIERS: [(&str, Quantifier); 3] =
    [("exists", Quantifier::Exists), ("all", Quantifier::All), ("filter", Quantifier::Filter)];

/// Operators from the weakest to the strongest; those of a row bind alike, from the left.
const OPERATORS: [&[(&str, Operator)]; 5] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("in", Operator::In),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

impl Expression {
    /// Reads an expression that may use these names; why it cannot be used, where it cannot.
    pub fn parse(text: &str, names: &[&str]) -> Result<Expression, String> {
        let mut parser =
            Parser { tokens: tokens(text)?, at: 0, names: names.iter().map(ToString::to_string).collect() };
        let node = parser.choice(0)?;
        match parser.take() {
            None => Ok(Expression(node)),
            Some(more) => Err(format!("`{}` is one too many", more.text())),
        }
    }

    /// What it comes to with these values; none where they do not fit it, such as a text times a number.
    pub fn evaluate(&self, values: &[(&str, Value)]) -> Option<Value> {
        let mut scope: Vec<(&str, Value)> = values.to_vec();
        self.0.evaluate(&mut scope)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(Value, String),
    Text(String),
    Word(String),
    Sign(&'static str),
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Token::Number(_, text) | Token::Text(text) | Token::Word(text) => text,
            Token::Sign(sign) => sign,
        }
    }
}

/// Longer ones first: `<=` is not `<` and `=`.
const SIGNS: [&str; 22] = [
    "||", "&&", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", "(", ")", "[", "]",
    ",", ".",
];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, after) = match first {
            '0'..='9' => number(rest)?,
            '\'' | '"' => quoted(rest, first)?,
            c if c.is_alphabetic() || c == '_' => {
                let (word, after) = split(rest, |c| c.is_alphanumeric() || c == '_');
                (Token::Word(word.to_owned()), after)
            }
            c => {
                let found = SIGNS.iter().find_map(|sign| Some((*sign, rest.strip_prefix(sign)?)));
                let (sign, after) = found.ok_or_else(|| format!("`{c}` has no meaning here"))?;
                (Token::Sign(sign), after)
            }
        };
        tokens.push(token);
        rest = after.trim_start();
    }
    Ok(tokens)
}

/// What fits at the beginning, and the rest.
fn split(text: &str, fits: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !fits(c)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn number(text: &str) -> Result<(Token, &str), String> {
    let (digits, after) = split(text, |c| c.is_ascii_digit());
    let fraction = after.strip_prefix('.').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let (written, value, after) = match fraction {
        Some(rest) => {
            let (fraction, after) = split(rest, |c| c.is_ascii_digit());
            let written = format!("{digits}.{fraction}");
            let value = written.parse().map(Value::Float).ok();
            (written, value, after)
        }
        None => (digits.to_owned(), digits.parse().map(Value::Int).ok(), after),
    };
    let value = value.ok_or_else(|| format!("`{written}` is too large a number"))?;
    Ok((Token::Number(value, written), after))
}

fn quoted(text: &str, quote: char) -> Result<(Token, &str), String> {
    let mut content = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            c if c == quote => {
                let after = text.get(at.saturating_add(1)..).unwrap_or_default();
                return Ok((Token::Text(content), after));
            }
            '\\' => match characters.next() {
                Some((_, 'n')) => content.push('\n'),
                Some((_, 't')) => content.push('\t'),
                Some((_, c)) => content.push(c),
                None => break,
            },
            c => content.push(c),
        }
    }
    Err(format!("the text after `{quote}` has no end"))
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    names: Vec<String>,
}

impl Parser {
    fn choice(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEPTH_MAX {
            return Err(format!("it is nested more than {DEPTH_MAX} times"));
        }
        let condition = self.binary(0, depth)?;
        if !self.skip("?") {
            return Ok(condition);
        }
        let then = self.choice(depth + 1)?;
        self.expect(":")?;
        let otherwise = self.choice(depth + 1)?;
        Ok(Node::Choice(Box::new((condition, then, otherwise))))
    }

    fn binary(&mut self, strength: usize, depth: usize) -> Result<Node, String> {
        let Some(operators) = OPERATORS.get(strength) else { return self.unary(depth) };
        let mut left = self.binary(strength + 1, depth)?;
        while let Some(operator) =
            operators.iter().find(|(sign, _)| self.skip(sign)).map(|(_, operator)| *operator)
        {
            let right = self.binary(strength + 1, depth)?;
            left = Node::Binary(operator, Box::new((left, right)));
        }
        Ok(left)
    }

    fn unary(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEPTH_MAX {
            return Err(format!("it is nested more than {DEPTH_MAX} times"));
        }
        if self.skip("!") {
            return Ok(Node::Not(Box::new(self.unary(depth + 1)?)));
        }
        if self.skip("-") {
            return Ok(Node::Negative(Box::new(self.unary(depth + 1)?)));
        }
        let mut node = self.operand(depth)?;
        while self.skip(".") {
            node = self.method(node, depth)?;
        }
        Ok(node)
    }

    fn operand(&mut self, depth: usize) -> Result<Node, String> {
        match self.take() {
            Some(Token::Number(value, _)) => Ok(Node::Literal(value)),
            Some(Token::Text(text)) => Ok(Node::Literal(Value::Text(text))),
            Some(Token::Word(word)) if word == "true" || word == "false" => {
                Ok(Node::Literal(Value::Bool(word == "true")))
            }
            Some(Token::Word(word)) if self.skip("(") => {
                let function = KnownFunction::find(&word)?;
                function.call(self.list(")", depth)?)
            }
            Some(Token::Word(word)) if self.names.contains(&word) => Ok(Node::Name(word)),
            Some(Token::Word(word)) => Err(self.unknown(&word)),
            Some(Token::Sign("(")) => {
                let node = self.choice(depth + 1)?;
                self.expect(")")?;
                Ok(node)
            }
            Some(Token::Sign("[")) => Ok(Node::List(self.list("]", depth)?)),
            Some(Token::Sign(sign)) => Err(format!("a value is missing before `{sign}`")),
            None => Err("a value is missing at the end".to_owned()),
        }
    }

    /// What follows a dot: a function of what stands before it, or a condition for each item of it.
    fn method(&mut self, of: Node, depth: usize) -> Result<Node, String> {
        let Some(Token::Word(name)) = self.take() else {
            return Err("a function is missing after `.`".into());
        };
        self.expect("(")?;
        let Some((_, quantifier)) = QUANTIFIERS.iter().find(|(known, _)| *known == name) else {
            let function = KnownFunction::find(&name)?;
            let mut given = vec![of];
            given.extend(self.list(")", depth)?);
            return function.call(given);
        };
        let Some(Token::Word(item)) = self.take() else {
            return Err(format!("`{name}` takes a name and a condition"));
        };
        self.expect(",")?;
        self.names.push(item.clone());
        let condition = self.choice(depth + 1)?;
        self.names.pop();
        self.expect(")")?;
        Ok(Node::Each(*quantifier, Box::new((of, condition)), item))
    }

    fn list(&mut self, end: &str, depth: usize) -> Result<Vec<Node>, String> {
        let mut items = Vec::new();
        if self.skip(end) {
            return Ok(items);
        }
        loop {
            items.push(self.choice(depth + 1)?);
            if self.skip(end) {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }

    fn take(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at = self.at.saturating_add(1);
        token
    }

    /// Takes a sign, or the word `in`, if it is the next.
    fn skip(&mut self, sign: &str) -> bool {
        let next = match self.tokens.get(self.at) {
            Some(Token::Sign(next)) => *next == sign,
            Some(Token::Word(word)) => word == sign,
            _ => false,
        };
        self.at = self.at.saturating_add(usize::from(next));
        next
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.skip(sign) {
            return Ok(());
        }
        match self.tokens.get(self.at) {
            Some(found) => Err(format!("`{sign}` is missing before `{}`", found.text())),
            None => Err(format!("`{sign}` is missing at the end")),
        }
    }

    fn unknown(&self, word: &str) -> String {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        match closest(word, names.iter().copied()) {
            Some(near) => format!("`{word}` is not known; did you mean `{near}`?"),
            None => format!("`{word}` is not known; there are {}", names.join(", ")),
        }
    }
}

impl KnownFunction {
    fn find(name: &str) -> Result<KnownFunction, String> {
        FUNCTIONS.iter().find(|known| known.name == name).copied().ok_or_else(|| {
            let names = FUNCTIONS.iter().map(|known| known.name);
            let names = names.chain(QUANTIFIERS.iter().map(|(name, _)| *name));
            format!("there is no function `{name}`; there are {}", names.collect::<Vec<_>>().join(", "))
        })
    }

    fn call(self, given: Vec<Node>) -> Result<Node, String> {
        if given.len() != self.takes {
            return Err(format!("`{}` takes {} values, not {}", self.name, self.takes, given.len()));
        }
        Ok(Node::Call(self.function, given))
    }
}

impl Node {
    fn evaluate<'e>(&'e self, scope: &mut Vec<(&'e str, Value)>) -> Option<Value> {
        match self {
            Node::Literal(value) => Some(value.clone()),
            Node::Name(name) => {
                scope.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            }
            Node::List(items) => {
                items.iter().map(|item| item.evaluate(scope)).collect::<Option<_>>().map(Value::List)
            }
            Node::Not(of) => Some(Value::Bool(!of.evaluate(scope)?.truth()?)),
            Node::Negative(of) => match of.evaluate(scope)? {
                Value::Int(number) => number.checked_neg().map(Value::Int),
                Value::Float(number) => Some(Value::Float(-number)),
                _ => None,
            },
            Node::Binary(operator @ (Operator::And | Operator::Or), sides) => {
                // One side may settle it, whatever becomes of the other.
                let settles = *operator == Operator::Or;
                let mut sides =
                    [&sides.0, &sides.1].map(|side| side.evaluate(scope).and_then(|side| side.truth()));
                sides.sort_by_key(|side| *side != Some(settles));
                match sides {
                    [Some(truth), _] if truth == settles => Some(Value::Bool(settles)),
                    [Some(_), Some(_)] => Some(Value::Bool(!settles)),
                    _ => None,
                }
            }
            Node::Binary(operator, sides) => {
                let (left, right) = (sides.0.evaluate(scope)?, sides.1.evaluate(scope)?);
                operator.apply(&left, &right)
            }
            Node::Choice(parts) => {
                let (condition, then, otherwise) = &**parts;
                if condition.evaluate(scope)?.truth()? { then } else { otherwise }.evaluate(scope)
            }
            Node::Call(function, given) => {
                let given: Vec<Value> =
                    given.iter().map(|node| node.evaluate(scope)).collect::<Option<_>>()?;
                function.apply(&given)
            }
            Node::Each(quantifier, parts, name) => {
                let Value::List(items) = parts.0.evaluate(scope)? else { return None };
                let mut kept = Vec::new();
                let all = items.len();
                for item in items {
                    scope.push((name, item.clone()));
                    let fits = parts.1.evaluate(scope).and_then(|truth| truth.truth());
                    scope.pop();
                    if fits? {
                        kept.push(item);
                    }
                }
                Some(match quantifier {
                    Quantifier::Exists => Value::Bool(!kept.is_empty()),
                    Quantifier::All => Value::Bool(kept.len() == all),
                    Quantifier::Filter => Value::List(kept),
                })
            }
        }
    }
}

impl Operator {
    fn apply(self, left: &Value, right: &Value) -> Option<Value> {
        match self {
            Operator::Equal => Some(Value::Bool(left.equals(right))),
            Operator::NotEqual => Some(Value::Bool(!left.equals(right))),
            Operator::Less => left.order(right).map(|order| Value::Bool(order.is_lt())),
            Operator::LessOrEqual => left.order(right).map(|order| Value::Bool(order.is_le())),
            Operator::Greater => left.order(right).map(|order| Value::Bool(order.is_gt())),
            Operator::GreaterOrEqual => left.order(right).map(|order| Value::Bool(order.is_ge())),
            Operator::In => match right {
                Value::List(items) => Some(Value::Bool(items.iter().any(|item| item.equals(left)))),
                _ => None,
            },
            _ => self.calculate(left, right),
        }
    }

    fn calculate(self, left: &Value, right: &Value) -> Option<Value> {
        match (self, left, right) {
            (Operator::Add, Value::Text(left), Value::Text(right)) => {
                Some(Value::Text(format!("{left}{right}")))
            }
            (_, Value::Int(left), Value::Int(right)) => match self {
                Operator::Add => left.checked_add(*right),
                Operator::Subtract => left.checked_sub(*right),
                Operator::Multiply => left.checked_mul(*right),
                Operator::Divide => left.checked_div(*right),
                Operator::Remainder => left.checked_rem(*right),
                _ => None,
            }
            .map(Value::Int),
            _ => {
                let (left, right) = (left.number()?, right.number()?);
                match self {
                    Operator::Add => Some(left + right),
                    Operator::Subtract => Some(left - right),
                    Operator::Multiply => Some(left * right),
                    Operator::Divide => Some(left / right),
                    _ => None,
                }
                .map(Value::Float)
            }
        }
    }
}

impl Function {
    fn apply(self, given: &[Value]) -> Option<Value> {
        match (self, given) {
            (Function::Size, [Value::List(items)]) => i64::try_from(items.len()).ok().map(Value::Int),
            (Function::Size, [Value::Text(text)]) => i64::try_from(text.chars().count()).ok().map(Value::Int),
            (Function::Int, [Value::Int(number)]) => Some(Value::Int(*number)),
            (Function::Int, [Value::Float(number)]) if number.is_finite() => Some(Value::Int(*number as i64)),
            (Function::Double, [number]) => number.number().map(Value::Float),
            (Function::Contains, [Value::Text(text), Value::Text(part)]) => {
                Some(Value::Bool(text.contains(part.as_str())))
            }
            (Function::StartsWith, [Value::Text(text), Value::Text(part)]) => {
                Some(Value::Bool(text.starts_with(part.as_str())))
            }
            (Function::EndsWith, [Value::Text(text), Value::Text(part)]) => {
                Some(Value::Bool(text.ends_with(part.as_str())))
            }
            _ => None,
        }
    }
}

impl Value {
    fn truth(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }

    fn order(&self, other: &Value) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
            (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
            _ => self.number()?.partial_cmp(&other.number()?),
        }
    }

    fn equals(&self, other: &Value) -> bool {
        self == other || self.number().is_some_and(|number| other.number() == Some(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(text: &str) -> Option<Value> {
        let list = Value::List(vec![Value::Text("ab".into()), Value::Text("c".into())]);
        let values =
            [("n", Value::Int(7)), ("x", Value::Float(0.5)), ("t", Value::Text("ab".into())), ("l", list)];
        let names = values.each_ref().map(|(name, _)| *name);
        Expression::parse(text, &names).unwrap_or_else(|error| panic!("{text}: {error}")).evaluate(&values)
    }

    #[test]
    fn values() {
        for (text, expected) in [
            ("1 + 2 * 3", Some(Value::Int(7))),
            ("(1 + 2) * 3", Some(Value::Int(9))),
            ("10 - 2 - 3", Some(Value::Int(5))),
            ("-n + 1", Some(Value::Int(-6))),
            ("7 / 2", Some(Value::Int(3))),
            ("7 % 4", Some(Value::Int(3))),
            ("n * x", Some(Value::Float(3.5))),
            ("1.5 + 1", Some(Value::Float(2.5))),
            ("n / 0", None),
            ("9223372036854775807 + 1", None),
            ("t + 'c'", Some(Value::Text("abc".into()))),
            ("t * 2", None),
            ("!true", Some(Value::Bool(false))),
            ("!n", None),
            ("n > 6 && n <= 7", Some(Value::Bool(true))),
            ("1 == 1.0", Some(Value::Bool(true))),
            ("t != \"ab\"", Some(Value::Bool(false))),
            ("n == t", Some(Value::Bool(false))),
            ("n < t", None),
            ("n / 0 > 1 || true", Some(Value::Bool(true))),
            ("true || n / 0 > 1", Some(Value::Bool(true))),
            ("n / 0 > 1 && false", Some(Value::Bool(false))),
            ("n / 0 > 1 && true", None),
            ("n > 9 ? 1 : n > 5 ? 2 : 3", Some(Value::Int(2))),
            ("t in l", Some(Value::Bool(true))),
            ("3 in [1, 2, 1 + 2]", Some(Value::Bool(true))),
            ("size(l) + l.size() + size('äb')", Some(Value::Int(6))),
            ("l.exists(e, e.startsWith('c'))", Some(Value::Bool(true))),
            ("l.all(e, size(e) > 1)", Some(Value::Bool(false))),
            ("l.filter(e, e.endsWith('b') && n > 1).size()", Some(Value::Int(1))),
            ("int(2.9) + int(double(n))", Some(Value::Int(9))),
            ("'it\\'s'.contains(\"'\")", Some(Value::Bool(true))),
        ] {
            assert_eq!(evaluate(text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (text, error) in [
            ("", "a value is missing at the end"),
            ("n *", "a value is missing at the end"),
            ("n n", "`n` is one too many"),
            ("(n", "`)` is missing at the end"),
            ("tokns + 1", "`tokns` is not known; did you mean `tokens`?"),
            ("n ? 1", "`:` is missing at the end"),
            ("'n", "the text after `'` has no end"),
            ("n # 2", "`#` has no meaning here"),
            ("size(n, n)", "`size` takes 1 values, not 2"),
            ("99999999999999999999", "`99999999999999999999` is too large a number"),
            ("n.exists(e, f)", "`f` is not known; there are n, tokens, e"),
            (
                "n.map(e, e)",
                "there is no function `map`; there are size, int, double, contains, startsWith, endsWith, exists, all, filter",
            ),
        ] {
            assert_eq!(Expression::parse(text, &["n", "tokens"]).unwrap_err(), error, "{text}");
        }
        for deep in ["(".repeat(500), "!".repeat(500), "[".repeat(500), "1?1:".repeat(500)] {
            assert!(Expression::parse(&deep, &[]).is_err());
        }
    }
}
