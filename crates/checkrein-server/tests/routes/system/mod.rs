mod health;
mod metrics;
mod ready;
