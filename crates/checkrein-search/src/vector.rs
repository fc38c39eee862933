//! A direction in the space of meanings, kept in a byte for each dimension.

/// Of length 1, so that similarity is the product of two of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vector {
    scale: f32,
    values: Vec<i8>,
}

impl Vector {
    /// Brings numbers to length 1. Nothing has no direction.
    pub fn normalised(numbers: &[f32]) -> Vector {
        let length = numbers.iter().map(|value| value * value).sum::<f32>().sqrt();
        let most = numbers.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        if !length.is_finite() || length <= f32::MIN_POSITIVE {
            return Vector { scale: 0.0, values: vec![0; numbers.len()] };
        }
        let step = 127.0 / most;
        // A float becomes the nearest byte there is.
        let values = numbers.iter().map(|value| (value * step).round() as i8).collect();
        Vector { scale: most / 127.0 / length, values }
    }

    pub fn dimensions(&self) -> usize {
        self.values.len()
    }

    /// 1 for the same direction, 0 for nothing in common. Vectors of other models have nothing in common.
    pub fn similarity(&self, other: &Vector) -> f32 {
        if self.values.len() != other.values.len() {
            return 0.0;
        }
        let products = self.values.iter().zip(&other.values);
        let sum: i32 = products.map(|(one, other)| i32::from(i16::from(*one) * i16::from(*other))).sum();
        sum as f32 * self.scale * other.scale
    }

    /// As it is kept: the scale, then the values.
    pub fn to_bytes(&self) -> Vec<u8> {
        let values = self.values.iter().map(|value| value.cast_unsigned());
        self.scale.to_le_bytes().into_iter().chain(values).collect()
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Vector> {
        let (scale, values) = bytes.split_first_chunk::<4>()?;
        let scale = f32::from_le_bytes(*scale);
        let values = values.iter().map(|value| value.cast_signed()).collect();
        scale.is_finite().then_some(Vector { scale, values })
    }

    /// As other programs take it.
    pub fn numbers(&self) -> impl Iterator<Item = f32> + '_ {
        self.values.iter().map(|value| f32::from(*value) * self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_comes_back_as_it_was_kept() {
        let vector = Vector::normalised(&[3.0, -4.0, 0.0]);
        assert_eq!(Vector::from_bytes(&vector.to_bytes()), Some(vector.clone()));
        assert!((vector.similarity(&vector) - 1.0).abs() < 0.01);
        assert!((vector.similarity(&Vector::normalised(&[4.0, 3.0, 0.0]))).abs() < 0.01);
        assert_eq!(vector.similarity(&Vector::normalised(&[1.0])), 0.0);
        assert_eq!(Vector::normalised(&[0.0, 0.0]).similarity(&Vector::normalised(&[1.0, 0.0])), 0.0);
        for bad in [&[][..], &[1, 2, 3], &[0, 0, 0xc0, 0x7f, 1]] {
            assert_eq!(Vector::from_bytes(bad), None);
        }
    }
}
